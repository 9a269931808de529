#include "runtime/admin/placement_proto.h"

#include <utility>

namespace baton::runtime {
namespace {

void TermsToProto(const LabelTerms& terms, v1::LabelTerms* out) {
  for (const LabelTerm& term : terms) {
    v1::LabelTerm* const added = out->add_terms();
    added->set_label(term.label);
    added->mutable_values()->Assign(term.values.begin(), term.values.end());
  }
}

/// Whether a list, of which so much is copied, takes another element. One too many is enough for
/// CheckPlacement to refuse it.
template <typename Copied>
bool TakesMore(const Copied& copied, std::size_t most) {
  return copied.size() <= most;
}

LabelTerms TermsFromProto(const v1::LabelTerms& message) {
  LabelTerms terms;
  for (const v1::LabelTerm& term : message.terms()) {
    if (!TakesMore(terms, kMaxLabelTerms)) break;
    LabelTerm& added = terms.emplace_back(LabelTerm{term.label(), {}});
    for (const std::string& value : term.values()) {
      if (!TakesMore(added.values, kMaxLabelValues)) break;
      added.values.push_back(value);
    }
  }
  return terms;
}

}  // namespace

void ToProto(const Placement& placement, v1::Placement* out) {
  for (const PlacementRule& rule : placement) {
    v1::PlacementRule* const added = out->add_rules();
    for (const ShardRange& range : rule.shards) {
      v1::ShardRange* const shards = added->add_shards();
      shards->set_first(range.first);
      shards->set_last(range.last);
    }
    if (!rule.require.empty()) TermsToProto(rule.require, added->mutable_require());
    for (const LabelTerms& terms : rule.prefer) TermsToProto(terms, added->add_prefer());
    added->set_standbys(rule.standbys);
    added->set_spread(rule.spread);
  }
}

Placement FromProto(const v1::Placement& message) {
  Placement placement;
  for (const v1::PlacementRule& rule : message.rules()) {
    if (!TakesMore(placement, kMaxPlacementRules)) break;
    PlacementRule& added = placement.emplace_back();
    for (const v1::ShardRange& range : rule.shards()) {
      if (!TakesMore(added.shards, kMaxShardRanges)) break;
      added.shards.push_back({range.first(), range.last()});
    }
    added.require = TermsFromProto(rule.require());
    for (const v1::LabelTerms& terms : rule.prefer()) {
      if (!TakesMore(added.prefer, kMaxPreferences)) break;
      added.prefer.push_back(TermsFromProto(terms));
    }
    added.standbys = rule.standbys();
    added.spread = rule.spread();
  }
  return placement;
}

}  // namespace baton::runtime
