package rundeck

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/runs"
)

// nodes are the hosts on which the steps of a job run.
type nodes struct {
	of       *job   // whose options the pattern refers to
	remote   bool   // without a filter, steps run on the server itself
	pattern  string // of Ansible, empty if the filter cannot be translated
	forks    int
	mayMatch bool // it is no error if no host matches
}

// limit returns the pattern as the limit of a template, empty for one that depends on answers.
func (n *nodes) limit() string {
	if strings.Contains(n.pattern, "$") && strings.Contains(n.pattern, "{") {
		return ""
	}
	return n.pattern
}

func (j *job) readNodes(f fields) { j.nodes = j.nodeFilter(f, "nodefilters") }

// nodeFilter reads the filter of a job, or that of a reference in it.
func (j *job) nodeFilter(f fields, at string) nodes {
	n := nodes{of: j}
	dispatch := f.object("dispatch")
	filter, exclude := f.text("filter"), f.text("filterExclude")
	for name, to := range map[string]*string{"include": &filter, "exclude": &exclude} {
		if old := f.object(name); old != nil {
			*to = strings.TrimSpace(*to + " " + attributes(old))
		}
	}
	if filter == "" && exclude == "" {
		return n
	}
	n.remote = true
	n.dispatch(j, dispatch, at+".dispatch")
	pattern, lost := translateFilter(filter, exclude)
	if lost != "" {
		j.need(at+".filter", "%q of the node filter %q has no pattern: set the variable hosts in the command",
			oneLine(lost), oneLine(strings.TrimSpace(filter+" "+exclude)))
		return n
	}
	n.pattern = pattern
	if strings.Contains(filter+exclude, "tags:") {
		j.warn(at+".filter", "tags are read as groups of the inventory: it needs groups of these names")
	}
	j.say("The node filter %q is the pattern %q.", oneLine(strings.TrimSpace(filter+" "+exclude)), oneLine(pattern))
	j.lost(f, at)
	return n
}

// attributes returns the attributes of an old filter as a new one.
func attributes(old fields) string {
	var out []string
	for _, name := range old.rest() {
		out = append(out, name+": "+strings.Join(strings.Fields(old.text(name)), ""))
	}
	return strings.Join(out, " ")
}

func (n *nodes) dispatch(j *job, f fields, at string) {
	if f == nil {
		return
	}
	if text := f.text("threadcount"); text != "" {
		var err error
		if n.forks, err = strconv.Atoi(text); err != nil || n.forks < 1 || n.forks > 1000 {
			n.forks = 0
			j.warn(at+".threadcount", "the number of threads is no plain number; that of Ansible applies")
		} else {
			j.say("The thread count is %s.", draft.Count(n.forks, "fork"))
		}
	}
	if !f.flag("keepgoing", false) {
		j.warn(at+".keepgoing", "a step that fails on one host still runs on the others")
	}
	n.mayMatch = f.flag("successOnEmptyNodeFilter", false)
	if !f.flag("excludePrecedence", true) {
		j.warn(at+".excludePrecedence", "excluded hosts stay excluded, although the filter lets included ones win")
	}
	if order := f.text("rankOrder"); order != "" && order != "ascending" {
		j.warn(at+".rankOrder", "the order of the hosts is that of the inventory")
	}
	if set(f.take("rankAttribute")) {
		j.warn(at+".rankAttribute", "the order of the hosts is that of the inventory")
	}
	j.lost(f, at)
}

// term is a part of a filter: an attribute and its value.
type term struct {
	key, value string
	not        bool
}

var keyed = lazyregexp.New(`^(!?)([A-Za-z_][\w.-]*):(.*)$`)

// terms returns the parts of a filter such as "tags: web+prod !name: old.*". A value without a key is a name.
func terms(filter string) []term {
	var out []term
	words := split(filter)
	for i := 0; i < len(words); i++ {
		m := keyed.FindStringSubmatch(words[i])
		if m == nil {
			out = append(out, term{key: "name", value: strings.TrimPrefix(words[i], "!"),
				not: strings.HasPrefix(words[i], "!")})
			continue
		}
		t := term{key: m[2], value: m[3], not: m[1] != ""}
		if t.value == "" && i+1 < len(words) {
			i++
			t.value = words[i]
		}
		out = append(out, t)
	}
	return out
}

// translateFilter returns the pattern of a filter, or the part that has none. A pattern is the union of its first
// hosts, of which the following parts select or exclude some.
func translateFilter(filter, exclude string) (pattern, lost string) {
	all := terms(filter)
	for _, t := range terms(exclude) {
		t.not = !t.not
		all = append(all, t)
	}
	var union, narrow, out []string
	for _, t := range all {
		either, both, ok := t.patterns()
		switch {
		case !ok, t.not && len(both) > 0, len(either) > 1 && len(union) > 1 && !t.not:
			return "", t.key + ": " + t.value
		case t.not:
			for _, p := range either {
				out = append(out, "!"+p)
			}
		case len(either) == 1 && len(union) > 0:
			narrow = append(narrow, "&"+either[0])
		default:
			for _, p := range union { // one host or group, which narrows as well
				narrow = append(narrow, "&"+p)
			}
			union = either
		}
		for _, p := range both {
			narrow = append(narrow, "&"+p)
		}
	}
	if len(union) == 0 {
		union = []string{"all"}
	}
	pattern = strings.Join(slices.Concat(union, narrow, out), ":")
	if strings.HasPrefix(pattern, "-") || runs.LimitNamesFile(pattern) || len(pattern) > 4096 {
		return "", filter
	}
	return pattern, ""
}

// patterns returns the patterns of a value: a host matches one of either and all of both.
func (t term) patterns() (either, both []string, ok bool) {
	values := commaList(t.value, ",")
	if len(values) == 0 {
		return nil, nil, false
	}
	switch strings.ToLower(t.key) {
	case "name", "nodename", "hostname":
		for _, v := range values {
			p, ok := hostPattern(v)
			if !ok {
				return nil, nil, false
			}
			either = append(either, p)
		}
		return either, nil, true
	case "tags":
		for _, v := range values {
			parts := strings.Split(v, "+")
			if len(parts) > 1 && len(values) > 1 {
				return nil, nil, false
			}
			for i, p := range parts {
				if p = strings.TrimSpace(p); !exactName.MatchString(p) && !answer.MatchString(p) {
					return nil, nil, false
				} else if i == 0 {
					either = append(either, p)
				} else {
					both = append(both, p)
				}
			}
		}
		return either, both, true
	}
	return nil, nil, false
}

var (
	exactName = lazyregexp.New(`^[A-Za-z0-9_.][A-Za-z0-9_.-]*$`)
	glob      = lazyregexp.New(`^[A-Za-z0-9_.*][A-Za-z0-9_.*-]*$`)
	answer    = lazyregexp.New(`^\$\{option\.[^}\s:,&!]{1,200}\}$`)
)

// hostPattern returns the pattern of a name, which may be a regular expression.
func hostPattern(v string) (string, bool) {
	v = strings.TrimSuffix(strings.TrimPrefix(v, "/"), "/")
	if simple := strings.ReplaceAll(v, ".*", "*"); glob.MatchString(simple) && !strings.Contains(simple, "**") {
		if simple == "*" {
			return "all", true
		}
		return simple, true
	}
	if answer.MatchString(v) {
		return v, true
	}
	if _, err := regexp.Compile(v); err != nil || v == "" || strings.ContainsAny(v, ":,;&!@${'\" \t") {
		return "", false
	}
	return "~^(" + v + ")$", true
}
