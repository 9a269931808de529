# Writes a header with the names and texts of files: cmake -DOUTPUT=FILE -DFILES=a,b,... -P embed.cmake
string(REPLACE "," ";" FILES "${FILES}")
list(LENGTH FILES count)
set(entries "")
foreach(path IN LISTS FILES)
  cmake_path(GET path FILENAME name)
  file(READ "${path}" text)
  string(FIND "${text}" ")embedded\"" delimiter)
  if(NOT delimiter EQUAL -1)
    message(FATAL_ERROR "${path} holds what ends a raw string")
  endif()
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by src/http/embed.cmake.
#pragma once

#include <string_view>

namespace baton::http {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

inline constexpr EmbeddedFile kEmbeddedPage[${count}] = {
${entries}};

}  // namespace baton::http
")
