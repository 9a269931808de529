// The files of the node's own page in src/http/page, which the build embeds into the program.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "http/handler.h"

namespace baton::http {

/// Returns the file for the path "/" (index.html) or "/page/<name>". nullopt: it is another path,
/// or the page has no such file.
std::optional<Response> PageFile(std::string_view path);

}  // namespace baton::http
