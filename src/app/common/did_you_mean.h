// Messages about mistakes on a command line. For a flag, key or verb that doesn't exist, they name
// the known word that the user probably meant.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace baton::app {

/// Returns the word of `known` that is nearest to `word`; of equally near words, the first one. The
/// distance is how many bytes must be added, removed or replaced. Upper and lower case count as
/// equal, and so do '_' and '-'. Returns "" if `known` is empty, if `word` has more than 100 bytes,
/// or if even the nearest word is too far away: its distance is more than a third of the length of
/// `word`. This third is rounded to the nearest whole number.
std::string Nearest(const std::string& word, const std::vector<std::string>& known);

/// Returns `; did you mean "WORD"?` with the word of Nearest, or "" if Nearest finds nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

/// Returns `message`, which is an error message of CLI11. If it says that a flag was given more
/// than once, returns a plainer text instead.
std::string PlainUsageError(const std::string& message);

}  // namespace baton::app
