#include "http/cause_json.h"

#include <boost/json.hpp>

namespace baton::http {

boost::json::value CauseValue(const Cause& cause) {
  if (cause.kind == CauseKind::kUnknown) return nullptr;
  boost::json::object object{
      {"kind", ToString(cause.kind)}, {"rule", nullptr}, {"detail", nullptr}};
  if (cause.rule > 0) object["rule"] = cause.rule;
  if (!cause.detail.empty()) object["detail"] = cause.detail;
  object["words"] = CauseWords(cause);
  return object;
}

}  // namespace baton::http
