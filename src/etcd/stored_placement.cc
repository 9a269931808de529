#include "etcd/stored_placement.h"

#include <utility>

namespace baton::etcd {
namespace {

namespace pb = ::baton::v1;

LabelTerms TermsOf(const pb::RecordLabelTerms& stored) {
  LabelTerms terms;
  for (const pb::RecordLabelTerm& term : stored.terms()) {
    terms.push_back({term.label(), {term.values().begin(), term.values().end()}});
  }
  return terms;
}

void StoreTerms(const LabelTerms& terms, pb::RecordLabelTerms* stored) {
  for (const LabelTerm& term : terms) {
    pb::RecordLabelTerm* added = stored->add_terms();
    added->set_label(term.label);
    added->mutable_values()->Assign(term.values.begin(), term.values.end());
  }
}

}  // namespace

Placement LoadPlacement(const pb::ConfigRecord& config) {
  Placement placement;
  for (const pb::RecordPlacementRule& stored : config.placement()) {
    PlacementRule rule;
    for (const pb::RecordShardRange& range : stored.shards()) {
      rule.shards.push_back({range.first(), range.last()});
    }
    rule.require = TermsOf(stored.require());
    for (const pb::RecordLabelTerms& terms : stored.prefer()) rule.prefer.push_back(TermsOf(terms));
    rule.standbys = stored.standbys();
    rule.spread = stored.spread();
    placement.push_back(std::move(rule));
  }
  return placement;
}

void StorePlacement(const Placement& placement, pb::ConfigRecord* config) {
  for (const PlacementRule& rule : placement) {
    pb::RecordPlacementRule* stored = config->add_placement();
    for (const ShardRange& range : rule.shards) {
      pb::RecordShardRange* added = stored->add_shards();
      added->set_first(range.first);
      added->set_last(range.last);
    }
    if (!rule.require.empty()) StoreTerms(rule.require, stored->mutable_require());
    for (const LabelTerms& terms : rule.prefer) StoreTerms(terms, stored->add_prefer());
    stored->set_standbys(rule.standbys);
    stored->set_spread(rule.spread);
  }
}

}  // namespace baton::etcd
