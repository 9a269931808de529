#include "app/ctl/completion.h"

#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace baton::app {
namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::vector<std::string> VerbsOf(const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* child : app.get_subcommands({})) verbs.push_back(child->get_name());
  return verbs;
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

/// Calls `visit` with each place in the tree: "", "shards", "shards list", ...
void Walk(const CLI::App& app, const std::string& path,
          const std::function<void(const std::string&, const CLI::App&)>& visit) {
  visit(path, app);
  for (const CLI::App* child : app.get_subcommands({})) {
    Walk(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), visit);
  }
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string words;
  std::string places;
  Walk(app, "", [&](const std::string& path, const CLI::App& place) {
    const std::string here = Join(VerbsOf(place));
    std::string flags = Join(FlagsOf(place));
    if (!path.empty()) flags += " " + Join(FlagsOf(app));
    words += fmt::format("    \"{}\") verbs=\"{}\"; flags=\"{}\" ;;\n", path, here, flags);
    if (!path.empty()) places += fmt::format("      \"{0}\") place=\"{0}\" ;;\n", path);
  });
  return "# bash completion of batonctl; load it by: source <(batonctl completion bash)\n"
         "_batonctl() {\n"
         "  local word place=\"\" verbs flags i current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=\"${place:+$place }${COMP_WORDS[i]}\"\n"
         "    case \"$word\" in\n" +
         places +
         "    esac\n"
         "  done\n"
         "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n"
         "    -o|--output) COMPREPLY=($(compgen -W \"table wide json yaml\" -- \"$current\")); "
         "return ;;\n"
         "    -f|--file) if [ \"$place\" = plan ]; then\n"
         "      COMPREPLY=($(compgen -f -- \"$current\")); return; fi ;;\n"
         "  esac\n"
         "  case \"$place\" in\n" +
         words +
         "  esac\n"
         "  case \"$current\" in\n"
         "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$current\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$verbs\" -- \"$current\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _batonctl batonctl\n";
}

std::string ZshCompletion(const CLI::App& app) {
  return "# zsh completion of batonctl; load it by: source <(batonctl completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         BashCompletion(app);
}

std::string FishCompletion(const CLI::App& app) {
  std::string script =
      "# fish completion of batonctl; load it by: batonctl completion fish | source\n"
      "complete -c batonctl -f\n";
  const std::string top = Join(VerbsOf(app));
  for (const CLI::App* verb : app.get_subcommands({})) {
    const std::string name = verb->get_name();
    script += fmt::format(
        "complete -c batonctl -n \"not __fish_seen_subcommand_from {}\" -a {} -d \"{}\"\n", top,
        name, verb->get_description());
    const std::string nested = Join(VerbsOf(*verb));
    if (nested.empty()) continue;
    script += fmt::format(
        "complete -c batonctl -n \"__fish_seen_subcommand_from {0}; and not "
        "__fish_seen_subcommand_from {1}\" -a \"{1}\"\n",
        name, nested);
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& flag : option->get_lnames()) {
      script += fmt::format("complete -c batonctl -l {}\n", flag);
    }
  }
  return script;
}

}  // namespace baton::app
