package argon2

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// params are the costs of a hash.
type params struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

// today returns the costs of new hashes: the minimum in OWASP's cheat sheet for argon2id, 19 MiB and two passes.
func today() params { return params{memory: 19456, passes: 2, threads: 1} }

const (
	saltLen = 16
	keyLen  = 32
)

// The limits of a stored hash. They permit higher costs than today's and keep a forged string from taking gigabytes or
// minutes.
const (
	maxMemory  = 64 << 10 // KiB
	maxPasses  = 8
	maxThreads = 8
	minSalt    = 8
	maxSalt    = 64
	minKey     = 16
	maxKey     = 64
	maxString  = 256
)

// phc is a hash in the PHC string format: $argon2id$v=19$m=19456,t=2,p=1$<salt>$<key>, both in raw standard base64.
type phc struct {
	params
	salt, key []byte
}

// errForm does not contain the string, which is a secret.
var errForm = errors.New("argon2: the stored hash has no form that is known here")

// String formats the hash.
func (h phc) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.threads,
		b64.EncodeToString(h.salt), b64.EncodeToString(h.key))
}

// current reports whether the hash has the costs of new hashes.
func (h phc) current() bool {
	return h.params == today() && len(h.salt) == saltLen && len(h.key) == keyLen
}

// parse parses a hash. It accepts exactly the output of String, within the limits.
func parse(s string) (phc, error) {
	var h phc
	if len(s) > maxString {
		return h, errForm
	}
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return h, errForm
	}
	costs := strings.Split(parts[3], ",")
	if len(costs) != 3 {
		return h, errForm
	}
	memory, okMemory := cost(costs[0], "m=", maxMemory)
	passes, okPasses := cost(costs[1], "t=", maxPasses)
	threads, okThreads := cost(costs[2], "p=", maxThreads)
	if !okMemory || !okPasses || !okThreads || memory < 8*threads {
		return h, errForm
	}
	h.params = params{memory: memory, passes: passes, threads: uint8(threads)}
	var okSalt, okKey bool
	h.salt, okSalt = octets(parts[4], minSalt, maxSalt)
	h.key, okKey = octets(parts[5], minKey, maxKey)
	if !okSalt || !okKey {
		return phc{}, errForm
	}
	return h, nil
}

// cost parses a positive number without a sign and leading zeros.
func cost(s, name string, limit uint32) (uint32, bool) {
	digits, ok := strings.CutPrefix(s, name)
	if !ok || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil && n <= uint64(limit)
}

func octets(s string, least, most int) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") { // the decoder would skip them
		return nil, false
	}
	b, err := base64.RawStdEncoding.Strict().DecodeString(s)
	return b, err == nil && len(b) >= least && len(b) <= most
}
