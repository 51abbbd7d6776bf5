package rundeck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/reserved"
)

// credential gives a job a token that sets an environment variable, by the name of its credential.
func (r *reader) credential(j *job, env, name, what string) {
	r.shell(j, name, what, importer.CredentialSpec{Kind: "token", Settings: map[string]any{"env_name": env}})
}

// shell gives a job a credential without its secret. Credentials of one name and kind are one. what says what it holds.
func (r *reader) shell(j *job, name, what string, spec importer.CredentialSpec) {
	if r.shells == nil {
		r.shells, r.shellOf = map[string]*importer.Object{}, map[string]string{}
	}
	key := fmt.Sprint(spec.Kind, spec.Settings, "\x00", name)
	as, ok := r.shellOf[key]
	if !ok {
		as = r.draft.Name(importer.Credential, name)
		o := &importer.Object{Kind: importer.Credential, Name: as, Ref: j.ref, Spec: &spec}
		draft.Need(o, "secret", "the secret has to be entered: exports hold none, and imports take none")
		draft.Map(o, "It holds %s.", what)
		r.shellOf[key], r.shells[as] = as, o
	}
	if !slices.Contains(j.credentials, as) {
		j.credentials = append(j.credentials, as)
	}
}

// secrets adds the credentials of a job to it and to the draft, once each. A run takes one for a variable.
func (r *reader) secrets(j *job) {
	taken := map[string]string{}
	for _, name := range j.credentials {
		o := r.shells[name]
		spec := o.Spec.(*importer.CredentialSpec)
		purpose := fmt.Sprint(spec.Kind, spec.Settings)
		if other, clash := taken[purpose]; clash {
			j.need("options", "a run takes one of the credentials %q and %q, since both serve one purpose", other, name)
			continue
		}
		taken[purpose] = name
		j.spec.Credentials = append(j.spec.Credentials, name)
		if !r.added[name] {
			if r.added == nil {
				r.added = map[string]bool{}
			}
			r.added[name] = true
			r.draft.Add(*o)
		}
	}
	if n := len(j.spec.Credentials); n > 0 {
		j.say("It uses the credentials %s.", strings.Join(quoted(j.spec.Credentials), ", "))
	}
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return out
}

// Words of names that hold secrets in commands. Names such as key alone occur too often without one.
const secretWord = `passw(?:or)?d|passphrase|pwd|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key`

var (
	privateKey = lazyregexp.New(`-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?`)
	userInfo   = lazyregexp.New(`(\w{2,10}://[^\s/:@"']{0,100}:)([^\s/@"'$]{1,200})(@)`)
	bearer     = lazyregexp.New(`(?i)((?:Authorization:\s*)?\b(?:Bearer|Basic)\s+)([A-Za-z0-9._~+/=-]{12,})`)
	// named matches a name and a value: NAME=value, name: "value", --name value.
	named = lazyregexp.New(`(?i)(\b|-)([\w-]{0,60}(?:` + secretWord + `)[\w-]{0,60})(["']?\s*[=:]\s*|\s+)` +
		`("[^"\n]{1,500}"|'[^'\n]{1,500}'|[^\s"'` + "`" + `;&|<>(){}]{1,500})`)
	harmless = lazyregexp.New(`^(?:[$@%]|[/.~]|-|https?:|true$|false$|yes$|no$|none$|null$|\d{1,3}$)`)
)

// looksSecret reports whether a value itself is a secret, whatever its name.
func looksSecret(value string) bool {
	return privateKey.MatchString(value) || userInfo.MatchString(value) || bearer.MatchString(value)
}

// hide replaces the secrets in the text of a step by references, which before and after enclose: the text is a command
// or a script. Each is a credential of the job.
func (j *job) hide(text, at, before, after string) string {
	put := func(name, value string) string {
		env := j.r.hidden(j, name, value)
		j.needOnce(at, "a secret in the text is left out: enter it in the credential that sets $"+env)
		return before + "secret." + env + after
	}
	if strings.Contains(text, "-----BEGIN ") {
		text = privateKey.Get().ReplaceAllStringFunc(text, func(key string) string { return put("PRIVATE_KEY", key) })
	}
	if !suspicious(text) {
		return text
	}
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		if suspicious(line) {
			line = hideLine(line, before, put)
		}
		out.WriteString(line)
	}
	return out.String()
}

// suspicious reports whether a text may have a secret. The expressions are slow, so that most lines are kept from them.
func suspicious(text string) bool {
	if strings.Contains(text, "://") {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"passw", "passphrase", "pwd", "secret", "token", "credential", "bearer", "basic",
		"apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key"},
		func(word string) bool { return strings.Contains(text, word) })
}

func hideLine(line, before string, put func(name, value string) string) string {
	line = userInfo.Get().ReplaceAllStringFunc(line, func(s string) string {
		m := userInfo.FindStringSubmatch(s)
		return m[1] + put("URL_PASSWORD", m[2]) + m[3]
	})
	line = bearer.Get().ReplaceAllStringFunc(line, func(s string) string {
		m := bearer.FindStringSubmatch(s)
		return m[1] + put("TOKEN", m[2])
	})
	return named.Get().ReplaceAllStringFunc(line, func(s string) string {
		m := named.FindStringSubmatch(s)
		name, sign, value := m[2], m[3], m[4]
		quote := ""
		if value[0] == '"' || value[0] == '\'' {
			quote, value = value[:1], value[1:len(value)-1]
		}
		words := strings.TrimSpace(sign) == "" && m[1] != "-" && !strings.HasPrefix(name, "-") // of a sentence
		switch {
		case words || harmless.MatchString(value) || strings.Contains(value, before+"secret."),
			strings.EqualFold(name, "pwd") || strings.EqualFold(name, "oldpwd"),
			quote == `"` && strings.Contains(value, "$"):
			return s
		}
		return m[1] + name + sign + quote + put(name, value) + quote
	})
}

// hidden gives a job the credential of a secret that was found in a text, and returns the variable that it sets. Each
// secret of an export has a variable of its own.
func (r *reader) hidden(j *job, name, value string) string {
	name = strings.Trim(reserved.Upper(name), "_")
	key := name + "\x00" + value
	found, ok := r.found[key]
	if !ok {
		if r.found == nil {
			r.found, r.foundAs = map[string][2]string{}, map[string]int{}
		}
		env := "SECRET_" + name
		if r.foundAs[name]++; r.foundAs[name] > 1 {
			env += "_" + strconv.Itoa(r.foundAs[name])
		}
		found = [2]string{env, j.object.Name + ": " + strings.TrimPrefix(env, "SECRET_")}
		r.found[key] = found
	}
	r.credential(j, found[0], found[1], "what steps have in their text")
	return found[0]
}

// masked returns a text for a name, without secrets.
func masked(text string) string {
	if !suspicious(text) {
		return text
	}
	return hideLine(text, "*", func(string, string) string { return "***" })
}

// once reports whether something is said for the first time about a job.
func (j *job) once(at, text string) bool {
	if j.noted == nil {
		j.noted = map[string]bool{}
	}
	key := at + "\x00" + text
	was := j.noted[key]
	j.noted[key] = true
	return !was
}

// needOnce and warnOnce are need and warn for what is said once about a job.
func (j *job) needOnce(at, text string) {
	if j.once(at, text) {
		j.need(at, "%s", text)
	}
}

func (j *job) warnOnce(at, text string) {
	if j.once(at, text) {
		j.warn(at, "%s", text)
	}
}
