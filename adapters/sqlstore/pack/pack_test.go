package pack_test

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUnpackUndoesPack(t *testing.T) {
	t.Parallel()
	c := pack.New()
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "data"), rapid.IntRange(1, 2000).Draw(t, "times"))
		codec, packed := c.Pack(data)
		if len(packed) > len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(packed))
		}
		got, err := c.Unpack(codec, packed)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back as %d: %v", len(data), len(got), err)
		}
	})
}

func TestUnpackRefusesWhatItDidNotMake(t *testing.T) {
	t.Parallel()
	c := pack.New()
	for _, codec := range []int{pack.Zstd, 7} {
		if _, err := c.Unpack(codec, []byte("not compressed")); err == nil {
			t.Errorf("codec %d accepts anything", codec)
		}
	}
}
