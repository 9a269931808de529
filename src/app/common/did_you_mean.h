// The known word that somebody probably meant: for flags, keys and verbs that don't exist.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace baton::app {

/// Returns the word of `known` that is nearest to `word`; of equally near words, the first one. The
/// distance is how many letters must be added, removed or replaced. Returns "" if the least
/// distance is more than a third of the length of `word`, rounded to the nearest number, or if
/// `word` has more than 100 bytes. Upper and lower case count as equal, and so do '_' and '-'.
std::string Nearest(const std::string& word, const std::vector<std::string>& known);

/// Returns a text such as "; did you mean "allow-remote-admin"?", or "" if Nearest finds nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

}  // namespace baton::app
