// placement: the rules file of `batonctl placement`, YAML or JSON.
//
// Must hold: a refusal is one line that names a line of the file. Rules that are taken keep to the
// bounds. As they are printed, as YAML and as JSON, they are taken again and are the same.
#include "app/ctl/placement_file.h"
#include "fuzz/targets.h"

namespace baton::fuzz {

void RunPlacement(std::string_view bytes) {
  const auto rules = app::ParsePlacement("rules", std::string(bytes));
  if (!rules) {
    MustBeOneLine(rules.error().message);
    Must(rules.error().message.starts_with("rules:"), "a refusal names the file and its line",
         rules.error().message);
    return;
  }
  const Status sound = CheckPlacement(*rules);
  Must(sound.ok(), "rules that are taken are sound", sound.ok() ? "" : sound.error().message);
  const std::string json = app::PlacementJson(*rules);
  MustBeJson(json);
  for (const std::string& text : {app::PlacementYaml(*rules), json}) {
    const auto again = app::ParsePlacement("printed", text);
    Must(again.ok() && *again == *rules, "rules are taken again as they are printed", text);
  }
}

std::vector<Seed> PlacementSeeds() {
  return {
      {"all-forms",
       "rules:\n  - shards: 0-99, 120\n    require: {zone: a, disk: [ssd, nvme]}\n"
       "    prefer: [{zone: a}, {zone: b, rack: 7}]\n  - shards: [7, '8-9, 11']\n"
       "    node: n3\n  - prefer: [{example.org/x: ['null', a-1.b_C]}]\n  - {}\n"},
      {"none", "rules: []\n"},
      {"json", R"({"rules":[{"shards":["0-2"],"require":{"zone":["a","b"]},)"
               R"("prefer":[{"zone":["a"]}]}]})"},
      {"anchors", "rules:\n  - require: &a {zone: a}\n  - require: *a\n"},
      {"merge-key", "rules:\n  - require: {<<: {zone: a}, disk: ssd}\n"},
      {"taken-words", "rules: [{require: {yes: [on, off, 'true', \"~\", 1e3, 0x1f, 1_000]}}]\n"},
      {"unknown-key", "rules:\n  - spread: zone\n"},
      {"twice", "rules:\n  - node: n1\n    require: {node: n2}\n"},
      {"wrong-range", "rules: [{shards: [3-1, 4294967296, -1, '']}]\n"},
      {"after-the-document", "{rules: []}, x\n"},
      {"two-documents", "rules: []\n---\nrules: []\n"},
      {"no-yaml", "rules: [\n"}};
}

}  // namespace baton::fuzz
