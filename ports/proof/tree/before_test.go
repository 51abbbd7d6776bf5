package tree

import (
	"errors"
	"testing"
)

// TestBeforeIsTheTreeBeforeTheLeaf compares with trees that grew leaf by leaf, for every leaf of every size.
func TestBeforeIsTheTreeBeforeTheLeaf(t *testing.T) {
	t.Parallel()
	const most = 70
	have := grow(most)
	grown := make([]Range, 1, most+1)
	for i := range uint64(most) {
		r := grown[i]
		r.Append(leafHash(i))
		grown = append(grown, r)
	}
	for size := uint64(1); size <= most; size++ {
		for index := range size {
			path, err := Inclusion(t.Context(), have, index, size)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := Before(index, size, path); err != nil || r != grown[index] {
				t.Fatalf("leaf %d of %d: %v", index, size, err)
			}
			var e *Error
			if _, err := Before(index, size, append(path, Hash{})); !errors.As(err, &e) || e.Code != CodeLength {
				t.Fatalf("leaf %d of %d with a hash too many: %v", index, size, err)
			}
		}
		var e *Error
		if _, err := Before(size, size, nil); !errors.As(err, &e) || e.Code != CodeSize {
			t.Fatalf("a leaf beyond: %v", err)
		}
	}
}
