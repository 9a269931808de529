# `cmake --install` puts these in place: programs, the library and what find_package(baton) needs.
#
# baton::baton is the whole embedded library and drags in nothing; baton::grpc and baton::prometheus
# are components of their own, so that only who asks for them needs those libraries:
#   find_package(baton REQUIRED COMPONENTS grpc)
include(CMakePackageConfigHelpers)

set(BATON_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/baton)
set(BATON_OPT_IN_HEADERS)
# A minor version may change the binary interface before 1.0.
set(BATON_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Exports `target` as baton::<name> in an export set of its own: baton-<name>-targets.cmake.
function(baton_export target name)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(baton::${name} ALIAS ${target})  # the same name for a project that takes this one in
  get_target_property(type ${target} TYPE)
  if(type STREQUAL SHARED_LIBRARY)
    # The same path in the build tree: CMake would pad its own with empty elements up to the length of the installed
    # one, and an empty element is the current folder.
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
      SOVERSION ${BATON_SOVERSION} INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  endif()
  install(TARGETS ${target} EXPORT baton-${name}-targets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT baton-${name}-targets NAMESPACE baton:: DESTINATION ${BATON_CMAKE_DIR})
endfunction()

# For builds without CMake: installs <name>.pc of the library `library`. C++20 is the caller's to ask for.
function(baton_pkg_config name library description requires)
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH BATON_PC_TO_PREFIX /prefix/${folder} /prefix)
  string(REGEX REPLACE "/$" "" BATON_PC_TO_PREFIX "${BATON_PC_TO_PREFIX}")
  set(BATON_PC_NAME ${name})
  set(BATON_PC_LIBRARY ${library})
  set(BATON_PC_DESCRIPTION "${description}")
  set(BATON_PC_REQUIRES "${requires}")
  configure_file(${PROJECT_SOURCE_DIR}/src/baton.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${folder})
endfunction()

foreach(program batond batonctl baton-guard)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

if(TARGET baton)
  baton_export(baton baton)
  baton_pkg_config(baton baton "One leader for each shard of a group, on etcd" "")
  set(BATON_grpc_REQUIRES grpc++)
  set(BATON_prometheus_REQUIRES prometheus-cpp-core)
  set(BATON_grpc_HEADERS credentials.h grpc.h owner_guard.h router.h)
  set(BATON_prometheus_HEADERS prometheus.h)
  foreach(name grpc prometheus)
    if(TARGET baton_${name})
      baton_export(baton_${name} ${name})
      baton_pkg_config(baton-${name} baton_${name} "Baton with ${BATON_${name}_REQUIRES}"
        "baton = ${PROJECT_VERSION}, ${BATON_${name}_REQUIRES}")
    else()
      foreach(header ${BATON_${name}_HEADERS})
        list(APPEND BATON_OPT_IN_HEADERS PATTERN ${header} EXCLUDE)
      endforeach()
    endif()
  endforeach()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/baton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" ${BATON_OPT_IN_HEADERS})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/baton DESTINATION ${CMAKE_INSTALL_DATADIR}/baton/proto
    FILES_MATCHING PATTERN "*.proto")

  configure_package_config_file(${PROJECT_SOURCE_DIR}/src/baton-config.cmake.in
    ${PROJECT_BINARY_DIR}/baton-config.cmake INSTALL_DESTINATION ${BATON_CMAKE_DIR})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/baton-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/baton-config.cmake
    ${PROJECT_BINARY_DIR}/baton-config-version.cmake DESTINATION ${BATON_CMAKE_DIR})
endif()
