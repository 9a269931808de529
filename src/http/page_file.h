// The files of the node's page. The build embeds them into the program, from src/http/page.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "http/handler.h"

namespace baton::http {

/// Returns the file for the path "/" (index.html) or "/page/<name>". nullopt: any other path, or
/// the page has no such file.
std::optional<Response> PageFile(std::string_view path);

}  // namespace baton::http
