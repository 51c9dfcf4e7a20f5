BEGIN { trace(`max_pfn); }
