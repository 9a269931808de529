// Shell completion of batonctl. The scripts are generated from the tree of commands (commands.h).
// Pure functions of this tree. REQUIRES (not checked): no name of a verb or flag, and no
// description of a verb at the top of the tree, has a '"', '$', '`' or '\'.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace baton::app {

/// Returns a script that bash can source. The script completes verbs, nested verbs, the flags of
/// the verb, and global flags. It completes only two kinds of values: the formats of --output, and
/// the file of `plan --file`.
std::string BashCompletion(const CLI::App& app);
/// Returns a zsh script, which loads the script for bash by zsh's bashcompinit.
std::string ZshCompletion(const CLI::App& app);
/// Returns a fish script. The script completes verbs, nested verbs, and the long names of global
/// flags. It does not complete short names of flags, or the flags of verbs.
std::string FishCompletion(const CLI::App& app);

}  // namespace baton::app
