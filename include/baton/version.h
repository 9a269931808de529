// The library's version. CMake reads it from here.
#pragma once

namespace baton {
inline constexpr const char* kVersion = "0.1.0";
}  // namespace baton
