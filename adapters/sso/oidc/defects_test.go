package oidc_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sso/oidc"
	"github.com/writ-automation/writ/ports/fault"
)

// without removes a claim, with sets one.
func without(name string) func(object)     { return func(o object) { delete(o, name) } }
func with(name string, v any) func(object) { return func(o object) { o[name] = v } }

// in sets a time of the token.
func in(name string, d time.Duration) func(object) {
	return func(o object) { o[name] = o["iat"].(int64) + int64(d/time.Second) }
}

// tokenDefects are ID tokens with one defect each, and the expected cause.
func tokenDefects() map[string]struct {
	payload func(object)
	cause   string
} {
	type defect = struct {
		payload func(object)
		cause   string
	}
	return map[string]defect{
		"wrong nonce":           {with("nonce", "c4nary"), "its nonce is not that of this sign-in"},
		"no nonce":              {without("nonce"), "its nonce is not that of this sign-in"},
		"nonce of another type": {with("nonce", []string{"c4nary"}), "unmarshal"},
		"wrong audience":        {with("aud", "other"), "audience"},
		"no audience":           {without("aud"), "audience"},
		"foreign party": {func(o object) {
			o["aud"], o["azp"] = []string{clientID, "other"}, "other"
		}, "authorized party (azp)"},
		"two audiences, no party":  {with("aud", []string{clientID, "other"}), "authorized party (azp)"},
		"one audience, foreign":    {with("azp", "other"), "authorized party (azp)"},
		"party that is no text":    {with("azp", []string{clientID}), "authorized party (azp)"},
		"expired":                  {in("exp", -61*time.Second), "it has expired"},
		"expired long ago":         {with("exp", -1e300), "it has expired"},
		"no expiry":                {without("exp"), "it has no time of expiry"},
		"not yet valid":            {in("nbf", 90*time.Second), "it is not valid yet"},
		"issued in the future":     {in("iat", 90*time.Second), "it was issued in the future"},
		"no time of issue":         {without("iat"), "it has no time of issue"},
		"wrong issuer":             {with("iss", "https://evil.example.com"), "issued by a different provider"},
		"issuer with a slash":      {func(o object) { o["iss"] = o["iss"].(string) + "/" }, "issued by a different provider"},
		"no issuer":                {without("iss"), "issued by a different provider"},
		"no subject":               {without("sub"), "it has no subject"},
		"empty subject":            {with("sub", " "), "it has no subject"},
		"long subject":             {with("sub", strings.Repeat("s", 256)), "its subject is longer"},
		"subject that is a number": {with("sub", 7), "unmarshal"},
		"wrong at_hash":            {with("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), "access token hash"},
		"issuer in another case":   {func(o object) { o["ISS"] = o["iss"]; delete(o, "iss") }, "it is of another issuer"},
		"audience in another case": {func(o object) { o["Aud"] = o["aud"]; delete(o, "aud") }, "it is for another audience"},
		"nonce in another case":    {func(o object) { o["NONCE"] = o["nonce"]; delete(o, "nonce") }, "its nonce is not"},
		"subject in another case":  {func(o object) { o["Sub"] = o["sub"]; delete(o, "sub") }, "it has no subject"},
		"expiry in another case":   {func(o object) { o["EXP"] = o["exp"]; delete(o, "exp") }, "it has no time of expiry"},
	}
}

// Keeps T28.
func TestTokenDefects(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, c := range tokenDefects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) { i.payload = c.payload }, nil)
			e, err := s.signIn(t)
			s.wantRefused(t, e, err, fault.Unauthenticated, c.cause)
		})
	}
}

// TestSignatureDefects covers tokens with valid claims.
// Keeps T28.
func TestSignatureDefects(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, c := range map[string]struct {
		token func(i *idp, payload object) string
		cause string
	}{
		"alg none":            {func(_ *idp, p object) string { return unsigned(p) }, "signature algorithm"},
		"HS256 of public key": {func(i *idp, p object) string { return i.signer.confused(p) }, "signature algorithm"},
		"alg not advertised": {func(_ *idp, p object) string {
			return compact(object{"alg": "RS512", "kid": "k1"}, p) + ".AAAA"
		}, "signature algorithm"},
		"no signature": {func(i *idp, p object) string { return compact(i.signer.header(), p) + "." }, "signature"},
		"changed claims": {func(i *idp, p object) string {
			parts := strings.Split(i.signer.sign(i.signer.header(), p), ".")
			p["sub"] = "root"
			return compact(i.signer.header(), p) + "." + parts[2]
		}, "signature"},
		"another key, this kid": {func(_ *idp, p object) string {
			k := newKey(t, "k1", "RS256", 1)
			return k.sign(k.header(), p)
		}, "signature"},
		"another key, unknown kid": {func(_ *idp, p object) string {
			k := newKey(t, "k9", "RS256", 1)
			return k.sign(k.header(), p)
		}, "signature"},
		"another key in the header": {func(_ *idp, p object) string {
			k := newKey(t, "k1", "RS256", 1)
			h := k.header()
			h["jwk"] = k.jwk()
			return k.sign(h, p)
		}, "signature"},
		"another key, no kid": {func(_ *idp, p object) string {
			return newKey(t, "", "RS256", 1).sign(object{"alg": "RS256"}, p)
		}, "signature"},
		"algorithm of another family": {func(i *idp, p object) string {
			return i.signer.sign(object{"alg": "ES256", "kid": "k1"}, p)
		}, "signature"},
		"unknown critical header": {func(i *idp, p object) string {
			h := i.signer.header()
			h["crit"], h["x"] = []string{"x"}, 1
			return i.signer.sign(h, p)
		}, "signature"},
		"JSON serialization": {func(i *idp, p object) string {
			parts := strings.Split(i.signer.sign(i.signer.header(), p), ".")
			return `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `","x":"..` + `"}`
		}, "no ID token"},
		"no token": {func(*idp, object) string { return "" }, "no ID token"},
		"no JWT":   {func(*idp, object) string { return "a.b.c" }, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) { i.token = c.token }, nil)
			e, err := s.signIn(t)
			s.wantRefused(t, e, err, fault.Unauthenticated, c.cause)
		})
	}
}

// TestToleratedTokens covers valid tokens that differ from the plain one.
func TestToleratedTokens(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, payload := range map[string]func(object){
		"expired within the leeway":   in("exp", -50*time.Second),
		"issued within the leeway":    in("iat", 50*time.Second),
		"valid within the leeway":     in("nbf", 50*time.Second),
		"two audiences and the party": func(o object) { o["aud"], o["azp"] = []string{"other", clientID}, clientID },
		"no hash of the access token": without("at_hash"),
		"subject twice":               with("SUB", "root"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) { i.payload = payload }, nil)
			if e, err := s.signIn(t); err != nil || e.Link.Subject != "s-1" {
				t.Errorf("%+v %v", e, err)
			}
		})
	}
}

// TestAnswerDefects covers callbacks that the provider did not send to this browser.
// Keeps T28.
func TestAnswerDefects(t *testing.T) {
	t.Parallel()
	d := open(t)
	set := func(name string, values ...string) func(url.Values) { return func(v url.Values) { v[name] = values } }
	for name, c := range map[string]struct {
		document func(object)
		alter    func(url.Values)
		cause    string
	}{
		"error":            {nil, set("error", "access_denied"), "the provider answered with access_denied"},
		"error of no code": {nil, set("error", "c4nary\n<b>"), "an error without a known code"},
		"empty error":      {nil, set("error", ""), "an error without a known code"},
		"other issuer":     {nil, set("iss", "https://evil.example.com"), "another issuer (mix-up)"},
		"empty issuer":     {nil, set("iss", ""), "names no issuer"},
		"issuer is missing": {with("authorization_response_iss_parameter_supported", true), func(url.Values) {},
			"names no issuer"},
		"two issuers": {nil, func(v url.Values) {
			v["iss"] = []string{"https://a", "https://b"}
		}, "several parameters iss"},
		"no state":            {nil, func(v url.Values) { v.Del("state") }, "no state"},
		"unknown state":       {nil, set("state", strings.Repeat("A", 43)), "unknown, expired or used"},
		"state of two":        {nil, func(v url.Values) { v.Add("state", "x") }, "several parameters state"},
		"no code":             {nil, func(v url.Values) { v.Del("code") }, "no code"},
		"two codes":           {nil, func(v url.Values) { v.Add("code", "x") }, "several parameters code"},
		"code of nobody":      {nil, set("code", "c4nary"), "the token endpoint answered 400: invalid_grant"},
		"nothing of anything": {nil, func(v url.Values) { clear(v) }, "no state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) { i.document = c.document }, nil)
			ch := s.begin(t)
			answer := s.visit(t, ch)
			c.alter(answer)
			e, err := s.Complete(t.Context(), answer, ch.Binding, false)
			s.wantRefused(t, e, err, fault.Unauthenticated, c.cause)
		})
	}
	s := newSite(t, d, func(i *idp) { i.document = with("authorization_response_iss_parameter_supported", true) }, nil)
	ch := s.begin(t)
	answer := s.visit(t, ch)
	answer.Set("iss", s.idp.URL)
	if e, err := s.Complete(t.Context(), answer, ch.Binding, false); err != nil || e.Username != "ada" {
		t.Errorf("an answer that names its issuer: %+v %v", e, err)
	}
}

// TestReplays repeats used answers, or sends them from another browser.
// Keeps T28.
func TestReplays(t *testing.T) {
	t.Parallel()
	s := newSite(t, open(t), nil, func(cfg *oidc.Config) { cfg.GroupsClaim = "" })
	mine, other := s.begin(t), s.begin(t)
	answer := s.visit(t, mine)
	if _, err := s.Complete(t.Context(), answer, mine.Binding, false); err != nil {
		t.Fatal(err)
	}
	e, err := s.Complete(t.Context(), answer, mine.Binding, false)
	s.wantRefused(t, e, err, fault.Unauthenticated, "the state is unknown, expired or used")

	fresh := s.visit(t, other)
	code := fresh.Get("code")
	fresh.Set("code", answer.Get("code"))
	e, err = s.Complete(t.Context(), fresh, other.Binding, false)
	s.wantRefused(t, e, err, fault.Unauthenticated, "the token endpoint answered 400: invalid_grant")

	// The verifier of this browser does not match a code of another one's sign-in.
	third := s.begin(t)
	stolen := s.visit(t, third)
	stolen.Set("code", code)
	e, err = s.Complete(t.Context(), stolen, third.Binding, false)
	s.wantRefused(t, e, err, fault.Unauthenticated, "the token endpoint answered 400: invalid_grant")

	for name, binding := range map[string]string{"another": mine.Binding, "none": "", "a part of": "x"} {
		ch := s.begin(t)
		answer := s.visit(t, ch)
		asked := s.idp.asked("/token")
		cause := "the binding is not that of the browser that began"
		switch name {
		case "none":
			cause = "the browser brought no binding"
		case "a part of":
			binding = ch.Binding[:42]
		}
		e, err := s.Complete(t.Context(), answer, binding, true) // unbound changes nothing
		s.wantRefused(t, e, err, fault.Unauthenticated, cause)
		if s.idp.asked("/token") != asked {
			t.Errorf("%s binding: the code was sent", name)
		}
		e, err = s.Complete(t.Context(), answer, ch.Binding, false)
		s.wantRefused(t, e, err, fault.Unauthenticated, "the state is unknown, expired or used")
	}
}
