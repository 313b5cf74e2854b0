# SPDX-License-Identifier: GPL-3.0-or-later
# Called by cpack before it packs. A source package has no repository that tells its revision, so it brings a file that does.
if(CPACK_TOPLEVEL_TAG MATCHES "Source")
  file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/REVISION "${CPACK_TUTTI_REVISION}\n")
endif()
