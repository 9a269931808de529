// The known word that somebody probably meant: for flags, keys and verbs that don't exist.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace baton::app {

/// The word of `known` that is nearest to `word`, or "" if none is near: at most a third of the
/// letters differ. Upper case and '_' for '-' don't count as differences. The first of several.
std::string Nearest(const std::string& word, const std::vector<std::string>& known);

/// "; did you mean "allow-remote-admin"?", or "" if no known word is near.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

}  // namespace baton::app
