package reserved

import "strings"

// Group is a part of the list.
type Group struct {
	Title string
	Why   string
	// AnyCase compares names in the form of Upper, in which scripts see variables.
	AnyCase bool
	// VariablesOnly reserves the names of variables, and not those of the members of an object.
	VariablesOnly bool
	// Names are sorted. A final * stands for every continuation.
	Names []string
}

// Groups returns the list. A name that contains {{, {% or {# is reserved too, since it could be read as a template.
func Groups() []Group { return append(ansible(), environment()...) }

func ansible() []Group {
	return []Group{
		{
			Title: "Ansible", AnyCase: true,
			Why: "connection, become, interpreter, shell, executables, plugins, and the members with which Ansible marks " +
				"values",
			Names: words("__ansible_* _ansible_* ansible_* delegated_vars discovered_interpreter_*"),
		},
		{
			Title: "Ansible's magic variables", VariablesOnly: true,
			Why: "what Ansible itself says of hosts, groups, roles and files",
			Names: words("group_names groups hostvars inventory_dir inventory_file inventory_hostname inventory_hostname_short",
				"omit play_hosts playbook_dir role_name role_names role_path role_uuid vars"),
		},
	}
}

func environment() []Group {
	return []Group{
		{
			Title: "Loaders and interpreters, however written", AnyCase: true,
			Why: "a script that takes variables into its environment loads or executes what they name",
			Names: words("BASHOPTS BASH_ENV BASH_FUNC_* DYLD_* GCONV_PATH GIT_ASKPASS GIT_CONFIG* GIT_EDITOR GIT_EXEC_PATH",
				"GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_TEMPLATE_DIR",
				"GLIBC_TUNABLES JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LD_* LOCPATH NODE_OPTIONS NODE_PATH OPENSSL_CONF",
				"OPENSSL_ENGINES OPENSSL_MODULES PERL5DB PERL5LIB PERL5OPT PERLLIB PROMPT_COMMAND PSModulePath PYTHONBREAKPOINT",
				"PYTHONHOME PYTHONINSPECT PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PYTHONWARNINGS RUBYLIB RUBYOPT SHELLOPTS",
				"SSH_ASKPASS SSH_SK_HELPER SSH_SK_PROVIDER SUDO_ASKPASS _JAVA_OPTIONS"),
		},
		{
			Title: "Shells and the C library",
			Why:   "search paths, start files, and programs that others start",
			Names: words("BASH_* BROWSER CDPATH EDITOR ENV EXECIGNORE FPATH GETCONF_DIR GLOBIGNORE HISTFILE HOME "+
				"HOSTALIASES IFS",
				"INPUTRC LESSCLOSE LESSOPEN LOCALDOMAIN MALLOC_* MANPAGER NLSPATH PAGER PATH PS0 PS1 PS2 PS3 PS4 RES_OPTIONS SHELL",
				"TERMINFO TERMINFO_DIRS TMPDIR TZDIR VISUAL XDG_* ZDOTDIR"),
		},
		{
			Title: "Interpreters and compilers",
			Why:   "modules, options and programs that they take from the environment",
			Names: words("AR BUNDLE_* CARGO_* CC CGO_* CLASSPATH COMPlus_* CONDA_* CORECLR_* COR_* CXX DOTNET_* ERL_* GEM_* GO*",
				"GRADLE_OPTS JAVA_* JDK_* JULIA_* LUA_* MAKEFILES MAKEFLAGS MAVEN_OPTS MFLAGS NODE_* NPM_* OPENSSL_* PERL* PHPRC",
				"PHP_* PIP_* PKG_CONFIG* POWERSHELL_* PSModuleAnalysisCachePath PYTHON* RUBY* RUSTC* RUSTFLAGS RUSTUP_* R_ENVIRON",
				"R_HOME R_LIBS R_LIBS_USER R_PROFILE TCLLIBPATH UV_* VIRTUAL_ENV YARN_* npm_config_*"),
		},
		{
			Title: "Programs that scripts call",
			Why:   "configuration that names further programs, or where secrets are sent",
			Names: words("AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE CLOUDSDK_* CURL_* DOCKER_* GIT_* GNUPGHOME GPG_* "+
				"HELM_* HGRCPATH",
				"KRB5_* KUBECONFIG KUBE_EDITOR NETRC RSYNC_* SSH_* SUDO_* SVN_SSH SYSTEMD_* TAR_OPTIONS TF_CLI_* TF_DATA_DIR "+
					"WGETRC"),
		},
		{Title: "Writ", Why: "what executors and the command line tell of themselves", Names: words("WRIT_*")},
	}
}

func words(lines ...string) []string { return strings.Fields(strings.Join(lines, " ")) }

// Upper returns the form of a variable's name behind WRIT_VAR_ in the environment of a run: letters in upper case, and
// an underscore for everything except letters and digits of ASCII.
func Upper(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, name)
}
