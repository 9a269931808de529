// Shell completion of batonctl, generated from the tree of commands, so that it can't get out of
// date. Pure functions of this tree. REQUIRES: the names of verbs and flags, and the descriptions
// of the verbs that are not nested in others, can stand between double quotes in a shell: they have
// no '"', '$', '`' or '\'.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace baton::app {

/// A script that bash can source. Completes verbs, nested verbs, the flags of the verb, and global
/// flags. Of values, completes only the formats of --output and the file of `plan --file`.
std::string BashCompletion(const CLI::App& app);
/// A zsh script: the one for bash, loaded by zsh's bashcompinit.
std::string ZshCompletion(const CLI::App& app);
/// A fish script. Completes verbs, nested verbs, and the long names of global flags; no short
/// names, and no flags of verbs.
std::string FishCompletion(const CLI::App& app);

}  // namespace baton::app
