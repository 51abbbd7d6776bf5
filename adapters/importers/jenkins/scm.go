package jenkins

import (
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// projectKey is what jobs with the same project have in common.
type projectKey struct{ url, branch, credential string }

// project makes a project of the repository of a job.
func (w *work) project(e *document.Element) {
	switch class := simple(e.Attr("class")); class {
	case "NullSCM", "":
		if class == "" && isSet(e) {
			w.lose(e, "The type of the repository is not known; choose a project.")
		}
		return
	case "GitSCM":
	default:
		need(w.o, "scm", "A repository of the type %s is no project; move it to git, and choose a project.", class)
		return
	}
	remotes := children(e.Child("userRemoteConfigs"))
	branches := children(e.Child("branches"))
	if len(remotes) == 0 {
		need(w.o, "scm", "The repository has no address; choose a project.")
		return
	}
	if len(remotes) > 1 {
		warn(w.o, "scm/userRemoteConfigs", "A project has one repository; the others are left out.")
	}
	if len(branches) > 1 {
		warn(w.o, "scm/branches", "A project has one branch; the others are left out.")
	}
	address, clean := repository(remotes[0].Value("url"))
	if address == "" {
		need(w.o, "scm/userRemoteConfigs", "The address of the repository is not one of a project, or has variables; "+
			"choose a project.")
		return
	}
	if !clean {
		need(w.o, "scm/userRemoteConfigs", "A user name or password in the address is left out; use a credential.")
	}
	branch := ""
	if len(branches) > 0 {
		branch = w.branch(branches[0].Value("name"))
	}
	w.useProject(address, branch, remotes[0].Value("credentialsId"))
	w.rest(remotes[0], "url", "credentialsId", "name", "refspec")
	if r := remotes[0].Value("refspec"); r != "" {
		warn(w.o, "scm/refspec", "The refspec is left out; the branches and tags of the repository are fetched.")
	}
	w.rest(e, "userRemoteConfigs", "branches", "configVersion", "submoduleCfg")
}

func (w *work) useProject(address, branch, id string) {
	key := projectKey{address, branch, id}
	name := w.projects[key]
	if name == "" {
		spec := importer.ProjectSpec{RepoURL: address, Branch: branch}
		o := importer.Object{Kind: importer.Project, Ref: w.j.ref + "#scm"}
		if id != "" {
			kind := "token"
			if strings.HasPrefix(address, "ssh:") || !strings.Contains(address, "://") {
				kind = "ssh_key"
			}
			spec.Credential = w.credential(kind, id, nil, "It is for the repository.")
		}
		name = w.b.Name(importer.Project, strings.TrimSuffix(base(strings.TrimRight(address, "/")), ".git"))
		o.Name, o.Spec = name, &spec
		draft.Map(w.b.Add(o), "The repository and the branch of the job became a project.")
		w.projects[key] = name
	}
	w.t.Project = name
	draft.Map(w.o, "The repository became the project %s, whose files each run finds in its directory.", name)
}

var scpAddress = lazyregexp.New(`^([A-Za-z0-9._-]+@)?[A-Za-z0-9._-]+:[^:/\\][^\\]*$`)

// repository returns the address of a repository as a project has it, empty if it is none, and whether nothing was
// removed.
func repository(address string) (string, bool) {
	if address == "" || len(address) > 2000 || strings.ContainsAny(address, "$\\ \t\r\n") || address[0] == '-' {
		return "", true
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		if scpAddress.MatchString(address) && !strings.Contains(address, "://") {
			return address, true
		}
		return "", true
	}
	switch u.Scheme {
	case "https", "git":
		clean := u.User == nil && u.RawQuery == "" && u.Fragment == ""
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String(), clean
	case "ssh":
		_, secret := u.User.Password()
		if secret {
			u.User = url.User(u.User.Username())
		}
		return u.String(), !secret
	}
	return "", true
}

var branchName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._/+-]*$`)

// branch returns the branch of a project for a specifier of Jenkins, empty for the default one.
func (w *work) branch(name string) string {
	short := name
	for _, prefix := range []string{"*/", "refs/heads/", "refs/remotes/origin/", "remotes/origin/", "origin/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			short = rest
			break
		}
	}
	if short == "" || short == "**" {
		return ""
	}
	if !branchName.MatchString(short) || strings.Contains(short, "..") || len(short) > 200 {
		need(w.o, "scm/branches", "The branch is a pattern or has variables; the project takes the default branch.")
		return ""
	}
	return short
}

// shell is a credential without its secrets.
type shell struct {
	name string
	o    *importer.Object
}

// credential returns the name of a credential for an id of Jenkins. An export has no secrets.
func (r *reader) credential(kind, id string, settings map[string]any, note string) string {
	key := kind + "\x00" + id
	if env, ok := settings["env_name"].(string); ok {
		key += "\x00" + env
	}
	if c := r.credentials[key]; c != nil {
		return c.name
	}
	c := &shell{name: r.b.Name(importer.Credential, id)}
	c.o = r.b.Add(importer.Object{
		Kind: importer.Credential, Name: c.name, Ref: "credentials/" + cut(id, 200),
		Spec: &importer.CredentialSpec{Kind: kind, Settings: settings},
	})
	need(c.o, "secret", "The secret is not in the export and must be entered.")
	if note != "" {
		draft.Map(c.o, "%s", note)
	}
	r.credentials[key] = c
	return c.name
}

// use adds a credential to the template.
func (w *work) use(name string) {
	if !slices.Contains(w.t.Credentials, name) {
		w.t.Credentials = append(w.t.Credentials, name)
		draft.Map(w.o, "Its runs get the credential %s.", name)
	}
}

const maxCredentials = 100 // of one job

// full reports whether a job has too many credentials for another one, and says so.
func (w *work) full(e *document.Element) bool {
	if len(w.t.Credentials) < maxCredentials {
		return false
	}
	need(w.o, short(e.Name), "There are more than %d credentials; the others are left out.", maxCredentials)
	return true
}
