#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format says. format.sh ROOT; 77 (skipped) without
# clang-format 14, since other versions format differently.
set -euo pipefail

cd -- "$1"
tool=$(command -v clang-format-14 || true)
if [[ -z $tool ]]; then
  echo "skipped: no clang-format-14 here"
  exit 77
fi

if ! said=$(find include src tests bench examples \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 -P 2 -n 50 "$tool" --style=file --dry-run --Werror 2>&1); then
  mapfile -t unformatted < <(grep -oE '^[^ :]+\.(h|cc):[0-9]+:[0-9]+: error' <<<"$said" | cut -d: -f1 | sort -u)
  ((${#unformatted[@]})) || echo "$said"
  echo "not as .clang-format says; mend it by: clang-format-14 -i ${unformatted[*]}"
  exit 1
fi
