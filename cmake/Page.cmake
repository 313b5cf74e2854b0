# SPDX-License-Identifier: GPL-3.0-or-later
# The page of `tutti report`: bundled by npm's esbuild from page/, in the build tree, and embedded as bytes. Without npm or
# without what it fetches, the template is empty, and everything else is built.
set(TUTTI_PAGE_DIR ${CMAKE_BINARY_DIR}/page) # tests and bench/page.mjs use its node_modules and report.html

# Sets result to the reason why there are no packages, or to "". Packages are fetched again only when the lock file differs.
function(tutti_fetch_page_packages result)
  set(${result} "" PARENT_SCOPE)
  find_program(TUTTI_NPM npm)
  find_program(TUTTI_NODE NAMES node nodejs)
  if(NOT TUTTI_NPM OR NOT TUTTI_NODE)
    set(${result} "package npm brings its bundler" PARENT_SCOPE)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/page/package-lock.json)
  file(SHA256 ${CMAKE_SOURCE_DIR}/page/package-lock.json wanted)
  set(stamp ${TUTTI_PAGE_DIR}/packages)
  if(EXISTS ${stamp})
    file(READ ${stamp} there)
    if(there STREQUAL wanted)
      return()
    endif()
  endif()
  file(COPY ${CMAKE_SOURCE_DIR}/page/package.json ${CMAKE_SOURCE_DIR}/page/package-lock.json ${CMAKE_SOURCE_DIR}/page/.npmrc
    DESTINATION ${TUTTI_PAGE_DIR})
  execute_process(COMMAND ${TUTTI_NPM} ci --ignore-scripts --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=1000
    WORKING_DIRECTORY ${TUTTI_PAGE_DIR} RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log TIMEOUT 300)
  file(WRITE ${TUTTI_PAGE_DIR}/npm.log "${log}")
  if(status EQUAL 0)
    file(WRITE ${stamp} ${wanted})
  else()
    set(${result} "npm ci failed, ${TUTTI_PAGE_DIR}/npm.log says why" PARENT_SCOPE)
  endif()
endfunction()

function(tutti_add_page target)
  tutti_fetch_page_packages(missing)
  if(missing)
    message(STATUS "tutti: the page of report is switched off; ${missing}")
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/no_page.c CONTENT
"#include \"report/page.h\"
const char tt_page_template[] = \"\";
const size_t tt_page_template_size = 0;
")
    target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated/no_page.c)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/page/src/*.ts)
  set(page ${CMAKE_SOURCE_DIR}/page)
  add_custom_command(OUTPUT ${TUTTI_PAGE_DIR}/page_template.c ${TUTTI_PAGE_DIR}/report.html
    COMMAND ${CMAKE_COMMAND} -E copy ${page}/build.mjs ${TUTTI_PAGE_DIR}/build.mjs
    COMMAND ${TUTTI_NODE} ${TUTTI_PAGE_DIR}/build.mjs ${page} ${TUTTI_PAGE_DIR}
    DEPENDS ${sources} ${page}/style.css ${page}/template.html ${page}/build.mjs ${TUTTI_PAGE_DIR}/packages
    COMMENT "Bundling the page of tutti report" VERBATIM)
  target_sources(${target} PRIVATE ${TUTTI_PAGE_DIR}/page_template.c)
endfunction()
