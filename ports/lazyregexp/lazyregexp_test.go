package lazyregexp_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

var word = lazyregexp.New(`^(\w)(\w*)$`)

// TestUse compares the results with those of the standard library, the first of them asked for by many at once.
func TestUse(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if !word.MatchString("abc") || word.MatchString("a b") {
				t.Error("the expression matches something else")
			}
		})
	}
	wg.Wait()
	if got := word.FindStringSubmatch("abc"); !slices.Equal(got, []string{"abc", "a", "bc"}) {
		t.Errorf("groups %q", got)
	}
	if got := word.ReplaceAllString("abc", "$2$1"); got != "bca" {
		t.Errorf("replaced %q", got)
	}
	if word.Get() != word.Get() || word.Get().String() != `^(\w)(\w*)$` {
		t.Error("another expression")
	}
}

// TestWrongText panics at the first use and not before.
func TestWrongText(t *testing.T) {
	t.Parallel()
	wrong := lazyregexp.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("a wrong text compiled")
		}
	}()
	wrong.MatchString("")
}
