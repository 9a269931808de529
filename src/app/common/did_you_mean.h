// Words for mistakes on a command line, and the known word that somebody probably meant: for flags,
// keys and verbs that don't exist.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace baton::app {

/// Returns the word of `known` that is nearest to `word`; of equally near words, the first one. The
/// distance is how many bytes must be added, removed or replaced. Upper and lower case count as
/// equal, and so do '_' and '-'. Returns "" if `known` is empty, if `word` has more than 100 bytes,
/// or if the least distance is more than a third of the length of `word` (this third is rounded to
/// the nearest whole number).
std::string Nearest(const std::string& word, const std::vector<std::string>& known);

/// Returns `; did you mean "WORD"?` with the word of Nearest, or "" if Nearest finds nothing.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& known);

/// Returns CLI11's message, or a plainer one for a flag that was given more than once.
std::string PlainUsageError(const std::string& message);

}  // namespace baton::app
