// The known word that somebody probably meant: for flags, keys and verbs that don't exist.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace baton::app {

/// Returns the word of `known` that is nearest to `word`, the first one of several. Returns "" if
/// more letters differ than a third of the length of `word` (rounded), or if `word` has more than
/// 100 bytes. Upper case, and '_' instead of '-', are no differences.
std::string Nearest(const std::string& word, const std::vector<std::string>& known);

/// Returns a text such as "; did you mean "allow-remote-admin"?", or "" if Nearest finds nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

}  // namespace baton::app
