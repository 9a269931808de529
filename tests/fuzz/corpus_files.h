// Corpora on disk: folders of small files, one input each.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace baton::fuzz {

/// Calls `run` with each file of `folder`, in the order of their names. Prints a name before it
/// runs the file, since the run may abort. Returns the number of files.
std::size_t ReplayFolder(const std::string& folder,
                         const std::function<void(std::string_view bytes)>& run);

}  // namespace baton::fuzz
