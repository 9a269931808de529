#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format says. format.sh ROOT; 77 (skipped) without
# clang-format 14, since other versions format differently.
set -euo pipefail

root=$1
tool=$(command -v clang-format-14 || true)
if [[ -z $tool ]]; then
  echo "skipped: no clang-format-14 here"
  exit 77
fi
cd -- "$root"
find include src tests bench examples \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 -r "$tool" --style=file --dry-run --Werror --ferror-limit=3
