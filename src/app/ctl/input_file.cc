#include "app/ctl/input_file.h"

#include <cstdio>

#include "app/ctl/interrupt.h"
#include "base/small_file.h"

namespace baton::app {

Result<std::string> ReadInputFile(const std::string& path, std::size_t most) {
  if (path != "-") return ReadSmallFile(path, most);
  Result<std::string> text = ReadStream(stdin, "stdin", most);
  // The text that was read is not complete.
  if (Interrupt::Happened()) return Error{ErrorCode::kInvalidArgument, "interrupted"};
  return text;
}

}  // namespace baton::app
