// Shell completion of batonctl. The scripts are generated from the tree of commands, so they can't
// get out of date. Pure functions of this tree. REQUIRES (not checked): the names of verbs and
// flags, and the descriptions of the verbs at the top of the tree, have no '"', '$', '`' or '\'.
// The scripts put these texts between double quotes.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace baton::app {

/// Returns a script that bash can source. It completes verbs, nested verbs, the flags of the verb,
/// and global flags. It completes two kinds of values: the formats of --output, and the file of
/// `plan --file`.
std::string BashCompletion(const CLI::App& app);
/// Returns a zsh script. It contains the script for bash, and loads it by zsh's bashcompinit.
std::string ZshCompletion(const CLI::App& app);
/// Returns a fish script. It completes verbs, nested verbs, and the long names of global flags. It
/// completes neither short names of flags nor flags of verbs.
std::string FishCompletion(const CLI::App& app);

}  // namespace baton::app
