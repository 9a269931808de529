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

LabelTerms TermsFromProto(const v1::LabelTerms& message) {
  LabelTerms terms;
  for (const v1::LabelTerm& term : message.terms()) {
    terms.push_back({term.label(), {term.values().begin(), term.values().end()}});
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
    PlacementRule& added = placement.emplace_back();
    for (const v1::ShardRange& range : rule.shards()) {
      added.shards.push_back({range.first(), range.last()});
    }
    added.require = TermsFromProto(rule.require());
    for (const v1::LabelTerms& terms : rule.prefer()) {
      added.prefer.push_back(TermsFromProto(terms));
    }
    added.standbys = rule.standbys();
    added.spread = rule.spread();
  }
  return placement;
}

}  // namespace baton::runtime
