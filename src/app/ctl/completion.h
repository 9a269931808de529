// Shell completion of batonctl, generated from the tree of commands, so that it can't get out of
// date. Pure functions of this tree. REQUIRES: the names of verbs and flags, and the descriptions
// of batonctl's own verbs, can stand between double quotes in a shell: no '"', '$', '`' or '\'.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace baton::app {

/// A script that bash can source. Completes verbs, nested verbs, and flags at each place. Of the
/// values of flags, completes only the formats of --output and the file of `plan --file`.
std::string BashCompletion(const CLI::App& app);
/// A zsh script: the one for bash, loaded by zsh's bashcompinit.
std::string ZshCompletion(const CLI::App& app);
/// A fish script. Completes verbs, nested verbs and the long flags of batonctl itself; no short
/// flags, and no flags of verbs.
std::string FishCompletion(const CLI::App& app);

}  // namespace baton::app
