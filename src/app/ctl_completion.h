// Shell completion of batonctl: generated from the parsed command tree, so that it never lags
// behind.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace baton::app {

/// A script that bash can source. Completes verbs, nested verbs, and flags at each place.
std::string BashCompletion(const CLI::App& app);
/// A zsh script: bash's, through zsh's own bashcompinit.
std::string ZshCompletion(const CLI::App& app);
/// A fish script.
std::string FishCompletion(const CLI::App& app);

}  // namespace baton::app
