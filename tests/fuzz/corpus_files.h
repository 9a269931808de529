// Corpora on disk: folders of small files, one input each.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace baton::fuzz {

/// Calls `run` with each file of `folder`, in the order of their names; a name is printed before
/// its file is run, as that may abort. Returns how many there are.
std::size_t ReplayFolder(const std::string& folder,
                         const std::function<void(std::string_view bytes)>& run);

}  // namespace baton::fuzz
