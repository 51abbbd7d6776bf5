package verifiers

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestForms rewrites a bundle and signs it again: only the form is wrong.
func TestForms(t *testing.T) {
	t.Parallel()
	c := newChain(t, 9, func(seq int) map[string]any { return map[string]any{"sub": fmt.Sprintf("usr_%d", seq)} })
	w := c.window(2, 7)
	w.older, w.anchors = 4, []string{c.anchor(3), c.anchor(5)}
	text := c.body(t, w)
	good := string(sign(t, text))
	swaps := map[string][2]string{
		"white space": {`"from":2`, `"from": 2`}, "a member twice": {`"from":2,`, `"from":2,"from":2,`},
		"an unknown member": {`"from":2,`, `"from":2,"x":1,`},
		"another order":     {`"from":2,"to":7`, `"to":7,"from":2`}, "another case": {`"from":2`, `"From":2`},
		"a leading zero": {`"from":2`, `"from":02`},
		"a float":        {`"from":2`, `"from":2.0`}, "2^53": {`"to":7`, `"to":9007199254740992`},
		"2^53+1":           {`"to":7`, `"to":9007199254740993`},
		"escaped ASCII":    {`"kind":"head_file"`, `"kind":"\u0068ead_file"`},
		"a lone surrogate": {`"kind":"head_file"`, `"kind":"\ud800"`},
		"an unknown kind":  {`"kind":"head_file"`, `"kind":"hearsay"`}, "a hostile id": {`"id":"anc_3"`, `"id":"\u001b[2J"`},
		"markup as an id":         {`"id":"anc_3"`, `"id":"<img src=x onerror=alert(1)>"`},
		"a raw control character": {`"id":"anc_3"`, "\"id\":\"anc\x01\""}, "no UTF-8": {`"id":"anc_3"`, "\"id\":\"\xff\""},
		"a long UTF-8": {`usr_3`, "usr_\xc0\x80"}, "a surrogate in UTF-8": {`usr_3`, "usr_\xed\xa0\x80"},
		"another time":  {`"generated_at":"2026`, `"generated_at":"26`},
		"no day":        {`"generated_at":"2026-01-01`, `"generated_at":"2026-02-29`},
		"a leap second": {`T01:00:00.`, `T23:59:60.`}, "a year before the first": {`"generated_at":"2026`,
			`"generated_at":"0000`}, "a key of a year before the first": {`"not_before":"2026`, `"not_before":"0000`},
		"a carriage return": {`"checkpoint":"` + origin + `\n`, `"checkpoint":"` + origin + `\r\n`},
		"no empty line":     {`\n\n— audit`, `\n— audit`}, "a zero in the size": {origin + `\n9`, origin + `\n09`},
		"another size": {`"size":3,"note"`, `"size":4,"note"`}, "anchors out of order": {c.anchor(3) + "," + c.anchor(5),
			c.anchor(5) + "," + c.anchor(3)}, "a window beyond": {`"to":7`, `"to":10`},
		"a window backwards": {`"to":7`, `"to":1`}, "from zero": {`"from":2`, `"from":0`},
		"no prev": {`,"prev":`, `,"before":`}, "an empty list of disclosures": {`},{"leaf"`, `,"disclosures":[]},{"leaf"`},
		"null":                {`"consistency":{`, `"consistency":null,"x":{`},
		"another id of a key": {`"kid":"sha256:`, `"kid":"sha256:0`}, "no keys": {`"keys":[{`, `"keys":[],"x":[{`},
		"keys as an object":        {`"keys":[`, `"keys":{"a":[`},
		"a key with a member more": {`"alg":"ed25519",`, `"a":1,"alg":"ed25519",`},
		"a member of a key twice":  {`"alg":"ed25519",`, `"alg":"ed25519","alg":"ed25519",`},
		"an empty handover":        {`"first_size":0,`, `"first_size":0,"handover":"",`},
		"a key's size with a sign": {`"first_size":0`, `"first_size":-0`},
		"a comma too many":         {`"entries":[`, `"entries":[,`}, "no comma": {`},{"leaf"`, `}{"leaf"`},
		"loose base64": {`"root":"`, `"root":"=`}, "base64url": {`"prev":"`, `"prev":"_`},
		"an escape of a slash": {origin + `\n9`, strings.ReplaceAll(origin, "/", `\/`) + `\n9`},
		"an upper-case escape": {`"id":"anc_3"`, `"id":"\u001F"`}, "an escaped newline": {`\n9\n`, `\u000a9\n`},
		"a NUL": {`usr_3`, `\u0000`}, "a long integer": {`"size":9,`, `"size":00000000000000009,`},
		"another line ending":            {`"keys"`, "\n\"keys\""},
		"a byte order mark":              {`"generated_at":"`, "\"generated_at\":\"\ufeff"},
		"a long leaf":                    {`{"leaf":"`, `{"leaf":"` + strings.Repeat("a", 32770)},
		"deep keys":                      {`"keys":[`, `"keys":[[[[[[[[[`},
		"another origin":                 {`"origin":"audit`, `"origin":"other`},
		"a smaller checkpoint":           {`"size":9,"generated_at"`, `"size":10,"generated_at"`},
		"a consistency beyond":           {`"consistency":{"from":4`, `"consistency":{"from":10`},
		"two signature lines of one key": {`=\n","keys"`, `=\n— a/b AAAAAAA=\n— a/b AAAAAAA=\n","keys"`},
		"a plus in a name":               {`=\n","keys"`, `=\n— a+b AAAAAAA=\n","keys"`},
		"a wide space in a name":         {`=\n","keys"`, "=\\n— a\u2003b AAAAAAA=\\n\",\"keys\""},
		"a signature of four bytes":      {`=\n","keys"`, `=\n— a/b AAAAAA==\n","keys"`},
	}
	all := []query{{name: "good", file: []byte(good), keys: []string{vkey}}}
	for _, name := range slices.Sorted(maps.Keys(swaps)) {
		bad := strings.Replace(text, swaps[name][0], swaps[name][1], 1)
		if bad == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		all = append(all, query{name: name, file: sign(t, bad), keys: []string{vkey}})
	}
	for name, bad := range map[string]string{
		"something behind": good + "\n", "no newline": strings.TrimSuffix(good, "\n"),
		"cut in the middle": good[:len(good)/2], "cut before the manifest": text,
		"nesting":        strings.Replace(good, `"manifest":`, `"manifest":`+strings.Repeat("[", 1<<16), 1),
		"an odd bracket": strings.Replace(good, `"manifest":{`, `"manifest":]{`, 1), "empty": "", "a zip": "PK\x03\x04",
		"version 2": strings.Replace(good, `"v":1`, `"v":2`, 1), "white space before": " " + good,
		"only the opening": `{"v":1,"origin":`, "half of the opening": `{"v":1,"ori`,
		"the opening of a receipt": `{"payload":"`,
	} {
		all = append(all, query{name: name, file: []byte(bad), keys: []string{vkey}})
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if bad := i > 0; bad == v.OK {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}

// TestLongLeaves has leaves around the largest size. A longer one breaks the chain; a text that is longer than any
// leaf can be violates the form of a bundle.
func TestLongLeaves(t *testing.T) {
	t.Parallel()
	long := func(bytes int, of string) *chain {
		c := newChain(t, 3, func(int) map[string]any { return map[string]any{"req": "x"} })
		base := len(c.leaves[1]) - 1
		return newChain(t, 3, func(seq int) map[string]any {
			if seq != 2 {
				return map[string]any{"req": "x"}
			}
			return map[string]any{"req": strings.Repeat(of, (bytes-base)/len(of)) + strings.Repeat("x", (bytes-base)%len(of))}
		})
	}
	var all []query
	want := []string{"", "", "chain_break", "chain_break", "chain_break", "format_invalid"}
	for _, c := range []*chain{long(16_384, "x"), long(16_384, "\u00e9"), long(16_385, "x"), long(16_385, "\u00e9"),
		long(32_000, "x"), long(33_000, "x")} {
		all = append(all, query{name: fmt.Sprintf("a leaf of %d bytes", len(c.leaves[1])), file: c.bundle(t, c.window(1, 3)),
			keys: []string{vkey}})
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if v.Reason != want[i] || v.OK != (want[i] == "") || v.BrokeAt+v.BrokeSeq != 0 {
			t.Errorf("%s, want %q: %+v", all[i].name, want[i], v)
		}
	}
}

// TestManifests signs statements with wrong contents.
func TestManifests(t *testing.T) {
	t.Parallel()
	c := newChain(t, 3, nil)
	text := c.body(t, c.window(1, 3))
	sum := sha256.Sum256([]byte(text))
	good := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","predicate":{"from":1,"origin":%q,"size":3,"to":3,"v":1},`+
		`"predicateType":"https://github.com/writ-automation/writ/audit/bundle/v1","subject":[{"digest":{"sha256":"%x"},"name":"bundle"}]}`, origin, sum)
	all := []query{{name: "good", file: seal(text, good), keys: []string{vkey}}}
	for _, s := range [][2]string{
		{`"to":3`, `"to":2`}, {`"v":1}`, `"v":2}`}, {`"v":1}`, `"v":true}`}, {`"v":1}`, `"v":1,"w":1}`},
		{`"name":"bundle"`, `"name":"b"`}, {`"sha256":"`, `"sha512":"`}, {`"sha256":"`, `"sha256":"0`},
		{`bundle/v1`, `receipt/v1`}, {`bundle/v1`, `bundle/v2`}, {`Statement/v1`, `Statement/v0.1`},
		{`"subject":[`, `"subject":[{"digest":{"sha256":"` + strings.Repeat("0", 64) + `"},"name":"other"},`},
		{`"predicate":{`, `"predicate":[],"x":{`}, {`{"_type"`, `{"_type":"x","_type"`}, {`,"size":3`, `,"size":3.0`},
		{`,"size":3`, `,"size":-3`}, {`,"size":3`, ` ,"size":3`},
		{`"v":1}`, `"v":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`},
		{`"v":1}`, `"v":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}`}, {`"v":1}`, `"v":1,"z":null}`},
		{`"v":1}`, `"v":1,"` + "\U0001F600" + `":1,"` + "\uFB33" + `":1}`},
		{`"v":1}`, `"v":1,"` + "\uFB33" + `":1,"` + "\U0001F600" + `":1}`},
	} {
		if bad := strings.Replace(good, s[0], s[1], 1); bad != good {
			all = append(all, query{name: s[1], file: seal(text, bad), keys: []string{vkey}})
		}
	}
	file := string(seal(text, good))
	for _, s := range [][2]string{
		{`"payloadType":"application/vnd.in-toto+json"`, `"payloadType":"text/plain"`},
		{`"signatures":[`, `"signatures":[],"x":[`}, {`"keyid":"sha256:`, `"keyid":"sha256:0`},
		{newSigner(2).id(), newSigner(1).id()}, {newSigner(2).id(), newSigner(3).id()},
		{`"sig":"`, `"sig":"AAAA`}, {`"sig":"`, `"sig":"`}, {`,"manifest":{`, `,"manifest":{"a":1,`},
		{`"payload":"`, `"payload":"AAAA`}, {`"payload":"`, `"payload":"","x":"`},
	} {
		all = append(all, query{name: s[1], file: []byte(strings.Replace(file, s[0], s[1], 1)), keys: []string{vkey}})
	}
	agree(t, theBrowser(t), all)
	for i, v := range product(t, all) {
		if strings.Contains(all[i].name, `"sig":"`) && len(all[i].name) == len(`"sig":"`) {
			continue // nothing to change
		}
		if bad := i > 0; bad == v.OK {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}

// TestChains breaks chains like an attacker who has the database and the manifest's key.
func TestChains(t *testing.T) {
	t.Parallel()
	const n, k = 12, 5
	var all []query
	add := func(name string, change func(c *chain, w *window)) {
		c := newChain(t, n, nil)
		w := c.window(1, n)
		w.anchors = []string{c.anchor(3), c.anchor(8), c.anchor(n)}
		change(c, &w)
		all = append(all, query{name: name, file: c.bundle(t, w), keys: []string{vkey}})
	}
	add("edited", func(c *chain, _ *window) { c.leaves[k-1] = strings.Replace(c.leaves[k-1], "applied", "denied", 1) })
	add("another number", func(c *chain, _ *window) {
		c.leaves[k-1] = strings.Replace(c.leaves[k-1], `"seq":5`, `"seq":99`, 1)
	})
	add("the last one edited", func(c *chain, _ *window) {
		c.leaves[n-1] = strings.Replace(c.leaves[n-1], "applied", "denied", 1)
	})
	add("swapped", func(c *chain, _ *window) { c.leaves[k-1], c.leaves[k] = c.leaves[k], c.leaves[k-1] })
	add("everything anew", func(c *chain, _ *window) {
		*c = *newChain(t, n, func(int) map[string]any { return map[string]any{"sub": "usr_9"} })
	})
	add("older", func(c *chain, w *window) {
		*c = *newChain(t, n, func(seq int) map[string]any {
			return map[string]any{"at": fmt.Sprintf("20%02d-01-01T00:00:00.000000Z", 40-seq)}
		})
		*w = c.window(1, n)
	})
	for name, change := range map[string]func(list []string) []string{
		"deleted":  func(l []string) []string { return slices.Delete(l, k-1, k) },
		"inserted": func(l []string) []string { return slices.Insert(l, k-1, l[1]) },
		"appended": func(l []string) []string { return append(l, l[n-1]) },
		"cut":      func(l []string) []string { return l[:n-2] },
		"emptied":  func(l []string) []string { return l[:0] },
	} {
		c := newChain(t, n, nil)
		for _, w := range []window{c.window(1, n), c.window(4, 10)} {
			w.anchors = []string{c.anchor(3), c.anchor(8), c.anchor(n)}
			head, _, _ := strings.Cut(c.body(t, w), `"entries":[`)
			list := make([]string, 0, n+1)
			for _, l := range change(slices.Clone(c.leaves)) {
				list = append(list, `{"leaf":`+quote(l)+"}")
			}
			for _, start := range []string{"", c.head(8)} {
				all = append(all, query{name: fmt.Sprintf("%s, of %d", name, w.from),
					file: sign(t, head+`"entries":[`+strings.Join(list, ",")+"]"), keys: []string{vkey}, from: start})
			}
		}
	}
	for i, v := range agree(t, theBrowser(t), all) {
		if v.OK != (all[i].name == "older") && all[i].name != "everything anew" || all[i].name == "everything anew" && v.OK {
			t.Errorf("%s: %+v", all[i].name, v)
		}
	}
}

// TestKeys uses keys of every validity, and handovers between them.
func TestKeys(t *testing.T) {
	t.Parallel()
	const n = 10
	c := newChain(t, n, nil)
	one, two, three, statement := newSigner(1), newSigner(11), newSigner(12), newSigner(2)
	type life = map[string]any
	at := func(size int, by ...signer) string { return note(origin, size, root(c.hashes[:size]), by...) }
	heir := func(size int, by ...signer) life { return life{"first_size": size, "handover": at(size, by...)} }
	var all []query
	var want []string
	add := func(name, reason string, pin signer, head string, listed ...map[string]any) {
		w := c.window(1, n)
		w.checkpoint, w.keys = head, append(listed, statement.key("statement"))
		for _, keys := range [][]string{{pin.vkey(origin)}, nil} {
			all = append(all, query{name: fmt.Sprintf("%s, %d keys", name, len(keys)), file: c.bundle(t, w), keys: keys})
			want = append(want, map[bool]string{true: reason, false: "?"}[keys != nil])
		}
	}
	retired, six := life{"status": "retired", "last_size": 6}, 6
	add("active", "", one, at(n, one), one.key("checkpoint"))
	add("published ahead, and given", "", one, at(n, one), one.key("checkpoint", life{"status": "next"}))
	add("retired before", "key_retired", one, at(n, one), one.key("checkpoint", retired))
	add("retired later", "", one, at(n, one), one.key("checkpoint", life{"status": "retired", "last_size": n}))
	add("revoked before", "key_untrusted", one, at(n, one),
		one.key("checkpoint", life{"status": "revoked", "trusted_size": 6}))
	add("revoked later", "", one, at(n, one), one.key("checkpoint", life{"status": "revoked", "trusted_size": n}))
	add("not yet", "key_untrusted", one, at(n, one), one.key("checkpoint", life{"first_size": n + 1}))
	add("handed over", "", one, at(n, two), one.key("checkpoint", retired), two.key("checkpoint", heir(six, one, two)))
	add("handed over, listed the other way", "", one, at(n, two), two.key("checkpoint", heir(six, one, two)),
		one.key("checkpoint", retired))
	add("handed over twice", "", one, at(n, three), three.key("checkpoint", heir(8, two, three)),
		two.key("checkpoint", life{"status": "retired", "last_size": 8}, heir(six, one, two)), one.key("checkpoint", retired))
	add("handed over elsewhere", "key_untrusted", one, at(n, two), one.key("checkpoint", retired),
		two.key("checkpoint", heir(7, one, two)))
	add("handed over by one", "key_untrusted", one, at(n, two), one.key("checkpoint", retired),
		two.key("checkpoint", heir(six, two)))
	add("handed over from the wrong size", "key_untrusted", one, at(n, two), one.key("checkpoint", retired),
		two.key("checkpoint", heir(six, one, two), life{"first_size": 5}))
	add("handed over with nonsense", "key_untrusted", one, at(n, two), one.key("checkpoint", retired),
		two.key("checkpoint", life{"first_size": 6, "handover": "nonsense"}))
	add("not handed over", "key_untrusted", one, at(n, two), one.key("checkpoint"), two.key("checkpoint"))
	add("two in use, one line", "signature_invalid", one, at(n, one), one.key("checkpoint"),
		two.key("checkpoint", heir(six, one, two)))
	add("two in use, two lines", "", one, at(n, one, two), one.key("checkpoint"),
		two.key("checkpoint", heir(six, one, two)))
	add("two lines, one of a stranger", "", one, at(n, one, two), one.key("checkpoint"))
	add("a stranger alone", "key_untrusted", one, at(n, two), one.key("checkpoint"))
	add("a stranger under another name", "signature_invalid", one, strings.Split(at(n, one), "— ")[0]+"— a/b AAAAAAA=\n",
		one.key("checkpoint"))
	add("a signature of nothing", "signature_invalid", one, strings.Split(at(n, one), "— ")[0]+
		fmt.Sprintf("— %s %s\n", origin, b64(append(one.keyHash(origin), 1))), one.key("checkpoint"))
	for i, v := range agree(t, theBrowser(t), all) {
		if want[i] != "?" && (v.Reason != want[i] || v.OK != (want[i] == "")) {
			t.Errorf("%s, want %q: %+v", all[i].name, want[i], v)
		}
	}
}

func b64(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
