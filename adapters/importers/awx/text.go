package awx

import (
	"iter"

	"github.com/writ-automation/writ/adapters/importers/document"
)

// rawList is a list that is decoded element by element.
type rawList []byte

// items returns the elements of a list, decoded one by one if it is a rawList.
func items(v any) iter.Seq2[int, any] {
	return func(yield func(int, any) bool) {
		switch v := v.(type) {
		case []any:
			for i, item := range v {
				if !yield(i, item) {
					return
				}
			}
		case rawList:
			i := 0
			for item := range document.Elements(v) {
				if !yield(i, document.Decode(item)) {
					return
				}
				i++
			}
		}
	}
}
