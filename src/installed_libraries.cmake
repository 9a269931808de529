# The shared libraries for other programs, which `cmake --install` installs. Our own programs and tests link the static
# libraries of the folders. All of PARTS is in the shared library, because programs may call each public function; of
# what the parts depend on, only what they use.
function(baton_shared name)
  cmake_parse_arguments(ARG "" "" "PARTS;DEPENDS" ${ARGN})
  list(TRANSFORM ARG_PARTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE ${ARG_PARTS} PUBLIC ${ARG_DEPENDS})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
endfunction()

baton_shared(baton PARTS baton_base baton_log baton_node baton_sharding baton_fencing)
baton_shared(baton_grpc PARTS baton_node_services baton_router baton_credentials DEPENDS baton gRPC::grpc++)
baton_shared(baton_prometheus PARTS baton_metrics DEPENDS baton prometheus-cpp::core)
