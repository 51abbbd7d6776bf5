package manifest

import (
	"fmt"
	"strings"
)

// Near returns the name that a misspelt one most likely means, empty if none is close.
func Near(name string, names []string) string {
	best, found := max(1, len(name)/3)+1, ""
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n), best); d < best {
			best, found = d, n
		}
	}
	return found
}

// didYouMean is the continuation of a message about an unknown name, empty if no name is close.
func didYouMean(name string, names []string) string {
	if n := Near(name, names); n != "" {
		return fmt.Sprintf(": did you mean %q?", n)
	}
	return ""
}

// choices is the continuation of a message about an unknown name that lists the names that exist.
func choices(name, what string, names []string) string {
	all := fmt.Sprintf("he %s are %s", what, strings.Join(names, ", "))
	if near := didYouMean(name, names); near != "" {
		return near + " T" + all
	}
	return "; t" + all
}

// maxNear bounds the names that are compared, in bytes.
const maxNear = 200

// distance counts the letters to insert, remove, replace or swap to make b of a. It is at least bound if the texts are
// long or differ in length by that much.
func distance(a, b string, bound int) int {
	if len(a) > maxNear || len(b) > maxNear || max(len(a)-len(b), len(b)-len(a)) >= bound {
		return bound
	}
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
