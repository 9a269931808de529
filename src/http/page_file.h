// The node's own page: files that the build puts into the program, below src/http/page.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "http/handler.h"

namespace baton::http {

/// "/" or "/page/<name>". Unset: no file of the page.
std::optional<Response> PageFile(std::string_view path);

}  // namespace baton::http
