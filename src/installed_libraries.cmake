# The shared libraries for other programs, which `cmake --install` installs. Our own programs and tests link the static
# libraries of the folders. WHOLE are those with public functions.
function(baton_shared name)
  cmake_parse_arguments(ARG "" "" "WHOLE;DEPENDS" ${ARGN})
  add_library(${name} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc "// The library consists of its parts.\n")
  list(JOIN ARG_WHOLE "," whole)
  set_property(TARGET ${name} PROPERTY LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${whole}")
  target_link_libraries(${name} PRIVATE ${ARG_WHOLE} PUBLIC ${ARG_DEPENDS})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
endfunction()

baton_shared(baton WHOLE baton_node baton_sharding baton_fencing)
baton_shared(baton_grpc WHOLE baton_node_services baton_router DEPENDS baton gRPC::grpc++)
baton_shared(baton_prometheus WHOLE baton_metrics DEPENDS baton prometheus-cpp::core)
