package manifest

import (
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/near"
)

// Near returns the name that a misspelt one most likely means, empty if none is close.
func Near(name string, names []string) string {
	best, found := max(1, len(name)/3)+1, ""
	for _, n := range names {
		if d := near.Edits([]rune(strings.ToLower(name)), []rune(strings.ToLower(n)), best); d < best {
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
	if meant := didYouMean(name, names); meant != "" {
		return meant + " T" + all
	}
	return "; t" + all
}
