package pack

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// The codecs of a stored blob.
const (
	Raw  = 0
	Zstd = 1
)

// worthwhile is the size below which compression gains less than it costs.
const worthwhile = 512

// largest bounds the unpacked size of a blob, also of an altered one.
const largest = 64 << 20

// Codec packs and unpacks blobs. It is safe for concurrent use and runs no goroutines.
type Codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// New makes a Codec.
func New() *Codec {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(fmt.Sprintf("the compressor refuses its fixed options: %v", err))
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(largest), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(fmt.Sprintf("the decompressor refuses its fixed options: %v", err))
	}
	return &Codec{enc: enc, dec: dec}
}

// Pack returns data in the form to store. It returns small or incompressible data unchanged.
func (c *Codec) Pack(data []byte) (codec int, packed []byte) {
	if len(data) < worthwhile {
		return Raw, data
	}
	packed = c.enc.EncodeAll(data, make([]byte, 0, len(data)/2))
	if len(packed) >= len(data) {
		return Raw, data
	}
	return Zstd, packed
}

// Unpack reverses Pack.
func (c *Codec) Unpack(codec int, packed []byte) ([]byte, error) {
	switch codec {
	case Raw:
		return packed, nil
	case Zstd:
		data, err := c.dec.DecodeAll(packed, nil)
		if err != nil {
			return nil, fmt.Errorf("unpack a stored blob: %w", err)
		}
		return data, nil
	}
	return nil, fmt.Errorf("a stored blob has the unknown codec %d", codec)
}
