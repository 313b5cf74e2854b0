# SPDX-License-Identifier: GPL-3.0-or-later
# What belongs to an installation besides the program, and the packages: `make package` runs cpack.

# Manual pages and completions are what the program itself says, with all of its modules.
if(NOT TUTTI_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  get_property(modules GLOBAL PROPERTY TUTTI_MODULE_TARGETS)
  set(manual ${CMAKE_BINARY_DIR}/manual)
  set(ask ${CMAKE_COMMAND} -E env --unset=TUTTI_MODULE_PATH $<TARGET_FILE:tutti> help)
  add_custom_command(OUTPUT ${manual}/tutti.1 DEPENDS tutti ${modules} VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
    COMMAND ${ask} --completion bash > ${manual}/tutti.bash
    COMMAND ${ask} --completion zsh > ${manual}/_tutti
    COMMAND ${ask} --man ${manual})
  add_custom_target(manual ALL DEPENDS ${manual}/tutti.1)
  foreach(section 1 7)
    install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
      FILES_MATCHING PATTERN "*.${section}")
  endforeach()
  install(FILES ${manual}/tutti.bash RENAME tutti
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  # zsh looks into site-functions below /usr/local; below /usr Debian has another place for what comes with packages.
  install(CODE "
    set(place site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
      set(place vendor-completions)
    endif()
    file(INSTALL \"${manual}/_tutti\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${place}\")")
endif()
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- packages ----
set(CPACK_PACKAGE_NAME tutti)
set(CPACK_PACKAGE_VENDOR tutti)
set(CPACK_PACKAGE_CONTACT "The tutti developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Libraries by dpkg-shlibdeps, among which the core is ours; what starts ranks is a program.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_DEPENDS mpich)
if(TUTTI_OPEN_MPI)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
endif()
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME tutti-${PROJECT_VERSION})
string(REGEX REPLACE "([][+.*^$()|?])" "\\\\\\1" source ${CMAKE_SOURCE_DIR})
set(CPACK_SOURCE_IGNORE_FILES "^${source}/\\.git(/|$)" "^${source}/build(-[^/]*)?/" "^${source}/tutti-runs/"
  "^${source}/result\\.json$" "/node_modules/" "/__pycache__/")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/PackageRevision.cmake)
set(CPACK_TUTTI_REVISION ${TUTTI_REVISION})
include(CPack)
