// Package near compares names with a misspelt one.
package near

import "slices"

// Edits counts the letters to insert, remove, replace or swap with the next one to make b of a. It is bound if there
// are as many or more, and then it stops early.
func Edits(a, b []rune, bound int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= bound {
		return bound
	}
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		next[0] = i + 1
		for j, y := range b {
			replaced := row[j]
			if x != y {
				replaced++
			}
			next[j+1] = min(replaced, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row, next = row, next, above
		if slices.Min(row) >= bound {
			return bound
		}
	}
	return min(row[len(b)], bound)
}
