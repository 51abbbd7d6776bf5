package secrets

import (
	"github.com/writ-automation/writ/adapters/httpapi"
)

const (
	exampleTypeID = "cty_01k0a000bvtx5zk9w2m4n6p8rs"
)

func exampleFields() CredentialFields {
	return CredentialFields{Name: "registry", Kind: "registry",
		Settings: httpapi.Values{"username": "deploy", "server": "registry.example.com"}}
}

func exampleNewCredential() CredentialInputBody {
	return CredentialInputBody{CredentialFields: exampleFields(),
		CredentialSecret: CredentialSecret{httpapi.Values{"password": "correct horse battery staple"}}}
}

func exampleCredential() CredentialBody {
	return CredentialBody{
		Record: httpapi.ExampleRecord("crd_01k0a000avtx5zk9w2m4n6p8rs"), CredentialFields: exampleFields(), HasSecret: true,
	}
}

func exampleSaved() SavedCredentialBody {
	return SavedCredentialBody{CredentialBody: exampleCredential()}
}

func exampleNewType() TypeFields {
	return TypeFields{
		Name: "pager",
		Fields: []FieldBody{
			{Name: "region", Label: "Region", Type: "choice", Required: true, Default: "eu", Choices: []string{"eu", "us"}},
			{Name: "api_key", Label: "API key", Type: "text", Secret: true, Required: true},
		},
		Inject: InjectBody{
			Env:       map[string]string{"PAGER_CONFIG": "{{files.pager.ini}}"},
			ExtraVars: httpapi.Values{"pager_region": "{{region}}"},
			Files:     map[string]string{"pager.ini": "[pager]\nkey = {{api_key}}\n"},
		},
	}
}

func exampleType() TypeBody {
	return TypeBody{Record: httpapi.ExampleRecord(exampleTypeID), TypeFields: exampleNewType()}
}
