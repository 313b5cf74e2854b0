# SPDX-License-Identifier: GPL-3.0-or-later
# Components are found by their place: src/io/backends/NAME.c is the backend NAME, and so on. A file
# that needs a library says so in its second line; it becomes a module, a shared object that is opened
# when it is chosen, and is left out where the library is missing:
#   /* needs: PKGCONFIG-MODULE... (package DEBIAN-PACKAGE) */
# A component that outgrows its file keeps its parts in a subdirectory of its name; they go where the file goes. A part
# kernels.c is compiled by tutti_add_kernels.
# Devices open their libraries at run time: they are modules that need nothing here.
# "@mpi@" in either name stands for openmpi or mpich, whichever MPI this build uses.

# Which MPI it is only its header knows: the paths tell it on some systems, not on all.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h TUTTI_OPEN_MPI)
unset(CMAKE_REQUIRED_LIBRARIES)
set(TUTTI_MPI mpich)
if(TUTTI_OPEN_MPI)
  set(TUTTI_MPI openmpi)
endif()
# What starts ranks. Where several MPIs are installed, the plain name follows a choice that may be
# another than the compiler's.
set(TUTTI_MPIEXEC mpiexec)
if(MPIEXEC_EXECUTABLE)
  set(TUTTI_MPIEXEC ${MPIEXEC_EXECUTABLE})
endif()
if(EXISTS ${MPIEXEC_EXECUTABLE}.${TUTTI_MPI})
  set(TUTTI_MPIEXEC ${MPIEXEC_EXECUTABLE}.${TUTTI_MPI})
endif()
# Several jobs may share a machine, so nobody is bound to "the first core"; the scheduler places ranks
# and their helper threads better than any default binding.
set(TUTTI_MPIEXEC_OPTIONS -n)
if(TUTTI_OPEN_MPI)
  set(TUTTI_MPIEXEC_OPTIONS --map-by slot:OVERSUBSCRIBE --bind-to none -n)
endif()

# Whether none of the libraries was built with another MPI than ours: such a one links, and crashes.
function(tutti_uses_our_mpi libraries result)
  set(${result} TRUE PARENT_SCOPE)
  if(NOT CMAKE_READELF)
    return()
  endif()
  foreach(library ${MPI_C_LIBRARIES})
    execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE text ERROR_QUIET)
    if(text MATCHES "SONAME[^[]*\\[([^]]+)\\]")
      list(APPEND ours ${CMAKE_MATCH_1})
    endif()
  endforeach()
  foreach(library ${libraries})
    execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCHALL "NEEDED[^[]*\\[libmpi(ch)?\\.so[^]]*\\]" needed "${text}")
    foreach(line ${needed})
      string(REGEX REPLACE ".*\\[(.*)\\]" "\\1" needed_name "${line}")
      if(ours AND NOT needed_name IN_LIST ours)
        set(${result} FALSE PARENT_SCOPE)
      endif()
    endforeach()
  endforeach()
endfunction()

# Debian's netcdf-mpi has its headers below its prefix, but does not say so.
function(tutti_link target name)
  target_link_libraries(${target} PRIVATE PkgConfig::NEED_${name})
  foreach(module ${ARGN})
    if(ARGC EQUAL 3)
      set(prefix ${NEED_${name}_PREFIX})
      set(version ${NEED_${name}_VERSION})
    else()
      set(prefix ${NEED_${name}_${module}_PREFIX})
      set(version ${NEED_${name}_${module}_VERSION})
    endif()
    if(EXISTS ${prefix}/include)
      target_include_directories(${target} SYSTEM PRIVATE ${prefix}/include)
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY TUTTI_LIBRARIES " {\"${module}\", \"${version}\"},")
    list(APPEND linked "${module} ${version}")
  endforeach()
  list(JOIN linked " + " linked)
  set_property(GLOBAL APPEND_STRING PROPERTY TUTTI_MODULES " {\"${name}\", \"${linked}\"},")
endfunction()

# Some packages name a directory of the machine they were built on, which CMake refuses.
function(tutti_mend_includes found)
  set(there "")
  foreach(directory ${${found}_INCLUDE_DIRS})
    if(EXISTS ${directory})
      list(APPEND there ${directory})
    endif()
  endforeach()
  set_target_properties(PkgConfig::${found} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${there}")
endfunction()

# Sets ${name}_OK and links the library that the line asks for to target; else records the package.
function(tutti_satisfy_needs target line name)
  set(${name}_OK TRUE PARENT_SCOPE)
  if(NOT line MATCHES "needs: ([^(]+) \\(package ([^)]+)\\)")
    message(FATAL_ERROR "${name}: '${line}' does not name a library and its package")
  endif()
  string(REPLACE "@mpi@" ${TUTTI_MPI} modules ${CMAKE_MATCH_1})
  string(REPLACE "@mpi@" ${TUTTI_MPI} package ${CMAKE_MATCH_2})
  separate_arguments(modules)
  pkg_check_modules(NEED_${name} QUIET IMPORTED_TARGET ${modules})
  if(NEED_${name}_FOUND)
    tutti_mend_includes(NEED_${name})
    tutti_uses_our_mpi("${NEED_${name}_LINK_LIBRARIES}" ours)
    if(ours)
      tutti_link(${target} ${name} ${modules})
      return()
    endif()
  endif()
  tutti_find_by_module(${target} ${name})
  if(NOT ${name}_FOUND_BY_MODULE)
    set(${name}_OK FALSE PARENT_SCOPE)
    set(${name}_PACKAGE ${package} PARENT_SCOPE)
    if(NEED_${name}_FOUND)
      message(STATUS "tutti: ${name} is switched off; its library was built with another MPI")
    else()
      message(STATUS "tutti: ${name} is switched off; package ${package} brings its library")
    endif()
  endif()
endfunction()

# ADIOS2 has no pkg-config file, and its CMake files look for what only programs in C++ and Fortran need. Debian adds the name of
# the MPI to those of its libraries, and has headers of each build in a directory of its own.
function(tutti_find_adios2 target)
  find_path(ADIOS2_INCLUDE_DIR adios2_c.h)
  find_path(ADIOS2_CONFIG_DIR adios2/common/ADIOSConfig.h PATHS ${ADIOS2_INCLUDE_DIR}
    PATH_SUFFIXES include/adios2/build/mpi adios2/build/mpi)
  find_library(ADIOS2_C_LIBRARY NAMES adios2_mpi_c adios2_c)
  find_library(ADIOS2_C_MPI_LIBRARY NAMES adios2_mpi_c_mpi adios2_c_mpi)
  find_library(ADIOS2_CORE_MPI_LIBRARY NAMES adios2_mpi_core_mpi adios2_core_mpi)
  set(adios2_FOUND_BY_MODULE FALSE PARENT_SCOPE)
  if(NOT ADIOS2_INCLUDE_DIR OR NOT ADIOS2_CONFIG_DIR OR NOT ADIOS2_C_LIBRARY OR NOT ADIOS2_C_MPI_LIBRARY OR
     NOT ADIOS2_CORE_MPI_LIBRARY)
    return()
  endif()
  tutti_uses_our_mpi("${ADIOS2_CORE_MPI_LIBRARY}" ours)
  if(NOT ours)
    return()
  endif()
  file(STRINGS ${ADIOS2_CONFIG_DIR}/adios2/common/ADIOSConfig.h line REGEX "define ADIOS2_VERSION_STR" LIMIT_COUNT 1)
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${line}")
  target_include_directories(${target} SYSTEM PRIVATE ${ADIOS2_INCLUDE_DIR} ${ADIOS2_CONFIG_DIR})
  target_compile_definitions(${target} PRIVATE ADIOS2_USE_MPI)
  target_link_libraries(${target} PRIVATE ${ADIOS2_C_MPI_LIBRARY} ${ADIOS2_C_LIBRARY})
  set_property(GLOBAL APPEND_STRING PROPERTY TUTTI_LIBRARIES " {\"adios2\", \"${version}\"},")
  set_property(GLOBAL APPEND_STRING PROPERTY TUTTI_MODULES " {\"adios2\", \"adios2 ${version}\"},")
  set(adios2_FOUND_BY_MODULE TRUE PARENT_SCOPE)
endfunction()

# HDF5 from environment modules or a path has no pkg-config file, but its compiler wrapper.
function(tutti_find_by_module target name)
  set(${name}_FOUND_BY_MODULE FALSE PARENT_SCOPE)
  if(name STREQUAL "adios2")
    tutti_find_adios2(${target})
    set(adios2_FOUND_BY_MODULE ${adios2_FOUND_BY_MODULE} PARENT_SCOPE)
    return()
  endif()
  if(NOT name STREQUAL "hdf5")
    return()
  endif()
  set(HDF5_PREFER_PARALLEL ON)
  find_package(HDF5 QUIET COMPONENTS C)
  if(HDF5_FOUND AND HDF5_IS_PARALLEL)
    target_include_directories(${target} PRIVATE ${HDF5_INCLUDE_DIRS})
    target_link_libraries(${target} PRIVATE ${HDF5_C_LIBRARIES})
    set_property(GLOBAL APPEND_STRING PROPERTY TUTTI_LIBRARIES " {\"hdf5\", \"${HDF5_VERSION}\"},")
    set_property(GLOBAL APPEND_STRING PROPERTY TUTTI_MODULES " {\"hdf5\", \"hdf5 ${HDF5_VERSION}\"},")
    set(${name}_FOUND_BY_MODULE TRUE PARENT_SCOPE)
  endif()
endfunction()

# Codec zfp is optional. Its library has no pkg-config file, and the CMake files of some packages name programs that are in others.
# Sets TUTTI_ZFP to the version and links it to target.
function(tutti_find_zfp target)
  find_path(ZFP_INCLUDE_DIR zfp/version.h)
  find_library(ZFP_LIBRARY zfp)
  if(NOT ZFP_INCLUDE_DIR OR NOT ZFP_LIBRARY)
    message(STATUS "tutti: codec zfp is switched off; package libzfp-dev brings its library")
    return()
  endif()
  set(version "")
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${ZFP_INCLUDE_DIR}/zfp/version.h line REGEX "define ZFP_VERSION_${part} +[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "_${part} +([0-9]+)" number "${line}")
    list(APPEND version ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN version "." version)
  target_include_directories(${target} SYSTEM PRIVATE ${ZFP_INCLUDE_DIR})
  target_link_libraries(${target} PRIVATE ${ZFP_LIBRARY})
  set(TUTTI_ZFP ${version} PARENT_SCOPE)
endfunction()

# A module of the given kind and name, in directory: a shared object that finds the core already there.
function(tutti_add_module kind name directory)
  add_library(${kind}_${name} MODULE EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${kind}_${name} PRIVATE tutti_core)
  set_target_properties(${kind}_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${directory})
endfunction()

function(tutti_install_module target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL FALSE)
  set_property(GLOBAL APPEND PROPERTY TUTTI_MODULE_TARGETS ${target})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tutti/modules)
endfunction()

# kind: backend, layer, workload, device or exporter; type and prefix: of the C objects.
function(tutti_add_kind target directory kind type)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${directory}/*.c)
  set(declared "")
  set(listed "")
  set(missing "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${directory}/${name}/*.c)
    list(FILTER parts EXCLUDE REGEX "/kernels\\.c$")
    file(STRINGS ${file} needs REGEX "^/\\* needs: " LIMIT_COUNT 1)
    if(kind STREQUAL "device")
      tutti_add_module(${kind} ${name} ${CMAKE_BINARY_DIR}/modules ${file} ${parts})
      tutti_install_module(${kind}_${name})
      continue()
    endif()
    if(NOT needs)
      target_sources(${target} PRIVATE ${file} ${parts})
      string(APPEND declared "extern const struct ${type} tt_${kind}_${name};\n")
      string(APPEND listed "    &tt_${kind}_${name},\n")
      continue()
    endif()
    tutti_add_module(${kind} ${name} ${CMAKE_BINARY_DIR}/modules ${file} ${parts})
    tutti_satisfy_needs(${kind}_${name} "${needs}" ${name})
    if(${name}_OK)
      tutti_install_module(${kind}_${name})
    else()
      string(APPEND missing "    {\"${name}\", \"${${name}_PACKAGE}\"},\n")
    endif()
  endforeach()
  set(TUTTI_REGISTRY "${TUTTI_REGISTRY}${declared}const struct ${type} *tt_${kind}s[TT_MAX_COMPONENTS + 1] = {\n${listed}    NULL};\n\n" PARENT_SCOPE)
  set(TUTTI_MISSING "${TUTTI_MISSING}${missing}" PARENT_SCOPE)
endfunction()

function(tutti_add_components target)
  set(TUTTI_REGISTRY "")
  set(TUTTI_MISSING "")
  tutti_add_kind(${target} io/backends backend tt_backend)
  tutti_add_kind(${target} io/layers layer tt_backend)
  tutti_add_kind(${target} workloads workload tt_workload)
  tutti_add_kind(${target} devices device tt_device_type)
  tutti_add_kind(${target} exporters exporter tt_exporter)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/registry.c @ONLY CONTENT
"/* Written by the build from the files in src/io/backends, src/io/layers, src/workloads, src/devices and src/exporters. */
#include \"plan/registry.h\"

@TUTTI_REGISTRY@struct tt_missing tt_missing_components[TT_MAX_COMPONENTS + 1] = {
@TUTTI_MISSING@    {NULL, NULL}};
")
  target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated/registry.c)
endfunction()

# The text of a file, behind that of further ones, as the string `symbol`: kernels of devices are compiled at run time.
function(tutti_embed target file symbol)
  set(text "")
  set(all src/base/both.h ${ARGN} ${file})
  foreach(each ${all})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${each})
    file(READ ${CMAKE_SOURCE_DIR}/${each} more)
    string(APPEND text "${more}")
  endforeach()
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${symbol}.c @ONLY CONTENT
"/* Written by the build from @file@. */
extern const char @symbol@[];
const char @symbol@[] = \"@text@\";
")
  target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated/${symbol}.c)
  set_property(GLOBAL APPEND PROPERTY TUTTI_EMBEDDED ${symbol})
  set_property(GLOBAL PROPERTY TUTTI_EMBEDDED_${symbol} ${all})
endfunction()

# Compile a file of kernels once per instruction set; the program chooses when it starts.
function(tutti_add_kernels target name file)
  set(sets baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
    list(APPEND sets avx2 avx512)
  endif()
  set(flags_baseline "")
  set(flags_avx2 -mavx2)
  set(flags_avx512 -mavx512f -mavx512dq -mavx512vl -mprefer-vector-width=512)
  foreach(set ${sets})
    add_library(${name}_${set} OBJECT ${file})
    target_link_libraries(${name}_${set} PRIVATE tutti_flags)
    # gcc 12 believes that unrolling lines() goes beyond its n rows.
    target_compile_options(${name}_${set} PRIVATE -O3 ${flags_${set}}
      $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_compile_definitions(${name}_${set} PRIVATE TT_ISA=${set})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}_${set}>)
  endforeach()
endfunction()

function(tutti_write_build_info target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
  if(TUTTI_SANITIZE)
    string(APPEND flags " -fsanitize=address,undefined")
  endif()
  string(STRIP "${flags}" flags)
  get_property(libraries GLOBAL PROPERTY TUTTI_LIBRARIES)
  get_property(modules GLOBAL PROPERTY TUTTI_MODULES)
  foreach(module yaml-0.1 jansson libxxhash hwloc sqlite3 gsl libzstd liblz4)
    string(APPEND libraries " {\"${module}\", \"${BASE_${module}_VERSION}\"},")
  endforeach()
  set(has_zfp 0)
  if(TUTTI_ZFP)
    set(has_zfp 1)
    string(APPEND libraries " {\"zfp\", \"${TUTTI_ZFP}\"},")
  endif()
  string(COMPARE EQUAL ${TUTTI_MPI} openmpi open_mpi)
  list(TRANSFORM TUTTI_MPIEXEC_OPTIONS REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE options)
  list(JOIN options ", " options)
  set(revision unknown)
  if(EXISTS ${CMAKE_SOURCE_DIR}/.git) # else a repository around this tree would answer
    execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  elseif(EXISTS ${CMAKE_SOURCE_DIR}/REVISION) # a source package
    file(STRINGS ${CMAKE_SOURCE_DIR}/REVISION revision LIMIT_COUNT 1 REGEX "^[0-9a-z.-]+$")
  endif()
  set(TUTTI_REVISION ${revision} PARENT_SCOPE)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/build_info.h @ONLY CONTENT
"#define TT_VERSION \"@PROJECT_VERSION@\"
#define TT_REVISION \"@revision@\"
#define TT_COMPILER \"@CMAKE_C_COMPILER_ID@ @CMAKE_C_COMPILER_VERSION@\"
#define TT_FLAGS \"@flags@\"
#define TT_BUILD_TYPE \"@CMAKE_BUILD_TYPE@\"
#define TT_OPEN_MPI @open_mpi@
#define TT_HAS_ZFP @has_zfp@
/* what starts the ranks, and its options up to their number */
#define TT_MPIEXEC \"@TUTTI_MPIEXEC@\"
#define TT_MPIEXEC_OPTIONS @options@
/* pkg-config names and versions of what is linked, as initialisers */
#define TT_LIBRARIES@libraries@
/* components that are modules, and what each of them is linked with */
#define TT_MODULES@modules@
")
endfunction()
