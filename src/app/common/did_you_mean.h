// Messages about flags, keys and verbs that don't exist. They name the known word that the user
// probably meant.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace baton::app {

/// Returns the word of `known` that is nearest to `word`. If several are equally near, returns the
/// first of them. The distance is how many bytes must be added, removed or replaced. Upper and
/// lower case count as equal, and so do '_' and '-'. The greatest allowed distance is a third of
/// the length of `word`, rounded to the nearest whole number. Returns "" if no word of `known` is
/// within this distance, or if `word` has more than 100 bytes.
std::string Nearest(const std::string& word, const std::vector<std::string>& known);

/// Returns `; did you mean "WORD"?` with the word of Nearest, or "" if Nearest finds nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

/// Returns a plainer text if `message` is CLI11's error that a flag was given more than once.
/// Returns any other message unchanged.
std::string PlainUsageError(const std::string& message);

}  // namespace baton::app
